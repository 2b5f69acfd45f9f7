/** `vedette heartbeats next`: the times at which a heartbeat by cron expects pings. */
import { printAnswer } from "#cli/print.ts";
import { readConfig } from "#config.ts";
import { readFileDefinitions } from "#definitions/commands.ts";
import type { CronDialect } from "#kernel/cron-expression.ts";
import { timeAfter } from "#kernel/cron-times.ts";
import { pick } from "#kernel/text.ts";

type Options = { config?: string; json: boolean };

export async function nextTimes(id: string, { config, json }: Options): Promise<number> {
  const settings = readConfig({ environment: process.env });
  const { heartbeats } = (await readFileDefinitions(settings, config)).set;
  const row = pick("heartbeat", id, heartbeats);
  if (row.cron === undefined) throw new Error(`${id} has a period, and no cron`);
  const found = findNext(row.cron, row, Date.now());
  const { cron, timezone, cronDialect, next } = found;
  return printAnswer({ heartbeat: id, ...found }, json, () =>
    [`${cron} (${timezone}, ${dialectNames[cronDialect]})`, ...next].join("\n"),
  );
}

const dialectNames = { debian: "as Debian's cron", kubernetes: "as a CronJob of Kubernetes" };

const shown = 5;

type Row = { timezone?: string | undefined; cronDialect?: CronDialect | undefined };

export function findNext(cron: string, row: Row, nowMs: number) {
  const { timezone = "UTC", cronDialect = "debian" } = row;
  const times = { expression: cron, timezone, dialect: cronDialect };
  const next: string[] = [];
  for (let ms = timeAfter(times, nowMs); ms !== null; ms = timeAfter(times, ms)) {
    next.push(formatInZone(ms, timezone));
    if (next.length === shown) break;
  }
  return { cron, timezone, cronDialect, next };
}

/** `Sun 2027-03-28 03:00 +02:00` */
export function formatInZone(ms: number, timeZone: string): string {
  const parts = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    weekday: "short",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    timeZoneName: "longOffset",
  }).formatToParts(ms);
  const of = (type: string) => parts.find((part) => part.type === type)?.value ?? "";
  const offset = of("timeZoneName").replace("GMT", "") || "+00:00";
  return `${of("weekday")} ${of("year")}-${of("month")}-${of("day")} ${of("hour")}:${of("minute")} ${offset}`;
}
