/** Evaluates constant times, so that a query beyond the retention can be refused. Of anything else it says nothing. */

export type Value =
  | { kind: "number"; of: number }
  | { kind: "text"; of: string }
  | { kind: "date" | "time"; atMs: number }
  | { kind: "interval"; ms: number };

/** "day": a Date; "moment": a DateTime, or perhaps a Date; "state": an aggregate state, or a value with one. */
export type Unit = "ms" | "seconds" | "moment" | "day" | "state";

/** A part of a query: its SQL, and what is known of it. */
export type Piece = {
  sql: string;
  value?: Value | undefined;
  /** The column that it is, or that it merely converts. */
  column?: string | undefined;
  /** The heading of a selected column that consists of this part alone. */
  heading?: string | undefined;
  unit?: Unit | undefined;
};

const dayMs = 86_400_000;

const unitMs: Record<string, number> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: dayMs,
  week: 7 * dayMs,
  month: 30 * dayMs,
  quarter: 91 * dayMs,
  year: 365 * dayMs,
};

export const intervalUnits = Object.keys(unitMs);

export function intervalOf(count: Value | undefined, unit: string): Value | undefined {
  const length = unitMs[unit];
  if (count?.kind !== "number" || length === undefined) return undefined;
  return { kind: "interval", ms: count.of * length };
}

/** The time, in unix milliseconds, that a value means in a comparison with `time`: milliseconds, or seconds in a rollup. */
export function momentOf(value: Value | undefined): number | undefined {
  if (value?.kind === "date" || value?.kind === "time") return value.atMs;
  if (value?.kind === "number") return value.of > 1e11 ? value.of : value.of * 1_000;
  if (value?.kind !== "text" || !/^\d{4}-\d{2}-\d{2}/.test(value.of)) return undefined;
  const parsed = Date.parse(
    `${value.of.trim().replace(" ", "T").replace(/Z?$/, "")}${zoneOf(value.of)}`,
  );
  return Number.isNaN(parsed) ? undefined : parsed;
}

/** `Date` parses a date without a time as UTC already. */
function zoneOf(text: string): string {
  return text.trim().length > 10 ? "Z" : "";
}

/** Functions that only convert a time, or round it down to the start of its interval. */
const sameMoment =
  /^(to(DateTime|DateTime64|Date|StartOf\w+|UnixTimestamp|UnixTimestamp64Milli|Int64|UInt64)|fromUnixTimestamp(64Milli)?|date_trunc)$/;

const movers = /^(add|subtract)(Second|Minute|Hour|Day|Week|Month)s$/;

export function foldCall(name: string, args: readonly Piece[], nowMs: number): Omit<Piece, "sql"> {
  if (name === "now" || name === "now64") return { value: { kind: "time", atMs: nowMs } };
  if (name === "today") return { value: { kind: "date", atMs: startOfDay(nowMs) } };
  if (name === "yesterday") return { value: { kind: "date", atMs: startOfDay(nowMs) - dayMs } };
  const interval = /^toInterval(\w+)$/.exec(name)?.[1];
  if (interval !== undefined) return { value: intervalOf(args[0]?.value, interval.toLowerCase()) };
  if (sameMoment.test(name)) return foldSame(name, name === "date_trunc" ? args[1] : args[0]);
  const mover = movers.exec(name);
  return mover === null ? {} : { value: moved(args, mover) };
}

function foldSame(name: string, arg: Piece | undefined): Omit<Piece, "sql"> {
  const atMs = momentOf(arg?.value);
  const kind = name === "toDate" ? "date" : "time";
  return { column: arg?.column, ...(atMs !== undefined && { value: { kind, atMs } }) };
}

function moved([from, count]: readonly Piece[], mover: RegExpExecArray): Value | undefined {
  const atMs = momentOf(from?.value);
  const by = intervalOf(count?.value, (mover[2] ?? "").toLowerCase());
  if (atMs === undefined || by?.kind !== "interval") return undefined;
  return { kind: "time", atMs: mover[1] === "add" ? atMs + by.ms : atMs - by.ms };
}

export function foldSum(left: Value | undefined, mark: "+" | "-", right: Value | undefined) {
  if (left === undefined || right === undefined) return undefined;
  const sign = mark === "+" ? 1 : -1;
  if (left.kind === "number" && right.kind === "number") {
    return { kind: "number", of: left.of + sign * right.of } as const;
  }
  if (left.kind !== "date" && left.kind !== "time") return undefined;
  const ms = lengthOf(left.kind, right);
  if (ms === undefined) return undefined;
  const kind = ms % dayMs === 0 ? left.kind : "time";
  return { kind, atMs: left.atMs + sign * ms } as const;
}

/** A plain number means days when it is added to a date, seconds when it is added to a time. */
export function lengthOf(kind: "date" | "time", value: Value): number | undefined {
  if (value.kind === "interval") return value.ms;
  if (value.kind !== "number") return undefined;
  return value.of * (kind === "date" ? dayMs : 1_000);
}

export function foldProduct(left: Value | undefined, mark: string, right: Value | undefined) {
  if (left?.kind !== "number" || right?.kind !== "number" || mark !== "*") return undefined;
  return { kind: "number", of: left.of * right.of } as const;
}

function startOfDay(ms: number): number {
  return Math.floor(ms / dayMs) * dayMs;
}
