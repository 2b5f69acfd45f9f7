/** Parses cron expressions as Debian's `cron` and the CronJobs of Kubernetes (robfig/cron) read them. */

export const cronDialects = ["debian", "kubernetes"] as const;
/** Whose rules an expression follows: they differ in steps, in Sundays, and when the clocks change. */
export type CronDialect = (typeof cronDialects)[number];

export type CronFields = {
  minutes: number[];
  hours: number[];
  days: number[];
  months: number[];
  /** Days from 0, Sunday. */
  weekdays: number[];
  /** A day has to be one of `days` and of `weekdays`; false: of one of them. */
  needsBoth: boolean;
  /** Debian's cron runs it whenever the clock shows its time, also when the clock has been changed. */
  isByClock: boolean;
};

/** Throws an error whose message says what is wrong. */
export function parseCron(expression: string, dialect: CronDialect): CronFields {
  const refusal = refusals.find(([start]) => expression.startsWith(start));
  if (refusal !== undefined) throw new Error(refusal[1]);
  const [minute, hour, day, month, weekday, ...more] = (nicknames[expression] ?? expression).split(
    /[ \t]+/,
  );
  if (weekday === undefined || more.length > 0) throw new Error(fiveFields);
  const read = (text = "", range: Range) => readField(text, range, dialect === "debian");
  const [minutes, hours] = [read(minute, ranges.minute), read(hour, ranges.hour)];
  const [days, months] = [read(day, ranges.day), read(month, ranges.month)];
  const weekdays = read(weekday, dialect === "debian" ? ranges.weekday : ranges.weekdayOfGo);
  return {
    ...{ minutes: minutes.values, hours: hours.values, days: days.values, months: months.values },
    weekdays: weekdays.values.map((value) => value % 7),
    needsBoth: days.isAny || weekdays.isAny,
    isByClock: minutes.isAny || hours.isAny,
  };
}

const fiveFields =
  'has to be five fields (minute, hour, day, month, weekday), such as "0 3 * * 1-5", or @daily and the like';

const nicknames: Record<string, string> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
};

const refusals = [
  ["@reboot", "runs when a machine starts, which no clock knows"],
  ["@every", "counts from the run before, which no clock knows: give periodSeconds instead"],
  ["TZ=", "has a time zone: it belongs in timezone"],
  ["CRON_TZ=", "has a time zone: it belongs in timezone"],
] as const;

type Range = { name: string; low: number; high: number; words?: string[] };

const weekday = { name: "weekday", low: 0, words: "sun mon tue wed thu fri sat".split(" ") };
const ranges = {
  minute: { name: "minute", low: 0, high: 59 },
  hour: { name: "hour", low: 0, high: 23 },
  day: { name: "day", low: 1, high: 31 },
  month: {
    ...{ name: "month", low: 1, high: 12 },
    words: "jan feb mar apr may jun jul aug sep oct nov dec".split(" "),
  },
  weekday: { ...weekday, high: 7 },
  weekdayOfGo: { ...weekday, high: 6 },
};

/** A field names any value: for Debian if it begins with `*`, else if there is a `*` or `?` without a step in it. */
function readField(text: string, range: Range, isDebian: boolean) {
  const parts = text.split(",").filter((part) => isDebian || part !== "");
  const unknown = isDebian && parts.find((part) => /^(\?|\w+\/)/.test(part));
  if (unknown) {
    const why = "which Debian's cron does not know: give a range, or cronDialect: kubernetes";
    throw new Error(describe(unknown, range, why));
  }
  const read = (parts.length > 0 ? parts : [text]).map((part) => readPart(part, range));
  const values = [...new Set(read.flatMap((part) => part.values))].sort((a, b) => a - b);
  return { values, isAny: isDebian ? text.startsWith("*") : read.some(({ isAny }) => isAny) };
}

const describe = (part: string, { name }: Range, why: string) =>
  `has the ${name} ${JSON.stringify(part)}, ${why}`;

const syntax = /^(?:([*?])|(\w+)(?:-(\w+))?)(?:\/(\d{1,9}))?$/;

function readPart(part: string, range: Range) {
  const { low, high } = range;
  const [, star, from = "", to, step] = syntax.exec(part) ?? [];
  const isOpen = star !== undefined || (to === undefined && step !== undefined);
  const first = star === undefined ? numberOf(from, range) : low;
  const last = isOpen ? high : numberOf(to ?? from, range);
  const by = Number(step ?? 1);
  if (first === null || last === null || by === 0) {
    const why = `which is none from ${low} to ${high}, nor a range such as ${low}-${high}/2`;
    throw new Error(describe(part, range, why));
  }
  if (last < first) {
    throw new Error(describe(part, range, "which goes backwards: give two, with a comma between"));
  }
  const count = Math.floor((last - first) / by) + 1;
  const values = Array.from({ length: count }, (_, index) => first + index * by);
  return { values, isAny: star !== undefined && by === 1 };
}

/** null: it is no value of the field. */
function numberOf(text: string, { low, high, words = [] }: Range): number | null {
  const value = /^\d+$/.test(text) ? Number(text) : low + words.indexOf(text.toLowerCase());
  return value >= low && value <= high ? value : null;
}
