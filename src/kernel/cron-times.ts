/** The times of a cron expression in a time zone. */
import { Cron } from "croner";

/** Five fields, or `@daily` and the like; `timezone` is a name of the IANA. */
export type CronTimes = { expression: string; timezone: string };

/** What is wrong with an expression or a zone, for whoever wrote it; null: nothing. */
export function findCronFault({
  expression,
  timezone,
}: CronTimes): { field: "cron" | "timezone"; message: string } | null {
  const zoneFault = findZoneFault(timezone);
  if (zoneFault !== null) return { field: "timezone", message: zoneFault };
  const message = findExpressionFault(expression);
  return message === null ? null : { field: "cron", message };
}

/** The first time strictly after `ms`; null: there is none within some hundred years. */
export function timeAfter(times: CronTimes, ms: number): number | null {
  return compile(times).nextRun(new Date(ms))?.getTime() ?? null;
}

/** The last time that is not after `ms`; null: there is none within some years. */
export function timeUpTo(times: CronTimes, ms: number): number | null {
  // It answers what is before the given time, to the millisecond.
  const [last] = compile(times).previousRuns(1, new Date(ms + 1));
  return last?.getTime() ?? null;
}

/** How many times there are after `fromMs` up to `toMs`; never more than `most`, as each costs 40 µs. */
export function countTimes(
  times: CronTimes,
  { fromMs, toMs, most }: { fromMs: number; toMs: number; most: number },
): number {
  let count = 0;
  for (let atMs = timeAfter(times, fromMs); atMs !== null && atMs <= toMs; count += 1) {
    if (count === most) break;
    atMs = timeAfter(times, atMs);
  }
  return count;
}

/** Parsing costs more than the times. */
const compiled = new Map<string, Cron>();
const mostCompiled = 20_000;

function compile({ expression, timezone }: CronTimes): Cron {
  const key = `${timezone} ${expression}`;
  const known = compiled.get(key);
  if (known !== undefined) return known;
  if (compiled.size >= mostCompiled) compiled.clear();
  const made = parse({ expression, timezone });
  compiled.set(key, made);
  return made;
}

/**
 * As Debian's cron does when the clocks change: a time that is skipped comes right after the gap, one that
 * is there twice comes once, and a field that begins with `*` goes by the clock.
 */
function parse({ expression, timezone }: CronTimes): Cron {
  return new Cron(expression, {
    mode: "5-part",
    paused: true,
    fixedTimeRule: "no-wildcard",
    timezone,
  });
}

/** A parser that takes more: seconds, single dates, and names that only a running cron knows. */
const fiveFields = /^\s*(?:\S+\s+){4}\S+\s*$|^@(?:yearly|annually|monthly|weekly|daily|hourly)$/;

function findExpressionFault(expression: string): string | null {
  if (!fiveFields.test(expression)) {
    return 'has to be five fields (minute, hour, day, month, weekday), such as "0 3 * * 1-5", or @daily and the like';
  }
  try {
    const next = parse({ expression, timezone: "UTC" }).nextRun();
    return next === null ? "names a time that never comes" : null;
  } catch (error) {
    return `is no cron expression: ${(error as Error).message.replace(/^CronPattern: /, "")}`;
  }
}

/** An offset passes on some versions of Node, and knows no summer time. */
function findZoneFault(timezone: string): string | null {
  const example = "has to be the name of a time zone, such as Europe/Berlin or UTC";
  if (/^[+-]|^$/.test(timezone)) return `${example}; an offset knows no summer time`;
  try {
    new Intl.DateTimeFormat("en", { timeZone: timezone });
    return null;
  } catch {
    return example;
  }
}
