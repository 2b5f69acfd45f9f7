/** The functions that a query may use, as ClickHouse spells them, and the types that their arguments need. */
import type { Piece } from "./fold.ts";
import { asMoment, requireZone, zoneArgument } from "./units.ts";

const names = [
  ...["count", "sum", "avg", "min", "max", "any", "anyLast", "argMin", "argMax", "groupArray"],
  ...["groupUniqArray", "uniq", "uniqExact", "quantile", "quantiles", "median", "countIf", "sumIf"],
  ...["avgIf", "minIf", "maxIf", "uniqIf", "uniqExactIf", "quantileIf", "topK", "sumMap"],
  ...["row_number", "rank", "dense_rank", "percent_rank", "lagInFrame", "leadInFrame"],
  ...["first_value", "last_value"],
  // These read the aggregate states of the rollups.
  ...["avgMerge", "quantilesTDigestMerge", "sumMerge"],
  ...["now", "now64", "today", "yesterday", "toDate", "toDateTime", "toDateTime64", "toYear"],
  ...["toTimeZone"],
  ...["toMonth", "toDayOfMonth", "toDayOfWeek", "toHour", "toMinute", "toSecond", "toYYYYMM"],
  ...["toYYYYMMDD", "toStartOfSecond", "toStartOfMinute", "toStartOfFiveMinutes"],
  ...["toStartOfTenMinutes", "toStartOfFifteenMinutes", "toStartOfHour", "toStartOfDay"],
  ...["toStartOfWeek", "toStartOfMonth", "toStartOfQuarter", "toStartOfYear", "toStartOfInterval"],
  ...["date_trunc", "date_diff", "dateDiff", "formatDateTime", "fromUnixTimestamp"],
  ...["fromUnixTimestamp64Milli", "toUnixTimestamp", "toUnixTimestamp64Milli"],
  ...["toIntervalSecond", "toIntervalMinute", "toIntervalHour", "toIntervalDay", "toIntervalWeek"],
  ...["toIntervalMonth", "toIntervalQuarter", "toIntervalYear"],
  ...["addSeconds", "addMinutes", "addHours", "addDays", "addWeeks", "addMonths"],
  ...["subtractSeconds", "subtractMinutes", "subtractHours", "subtractDays", "subtractWeeks"],
  "subtractMonths",
  ...["lower", "upper", "substring", "concat", "length", "trim", "startsWith", "endsWith"],
  ...["JSONExtractString", "position", "splitByChar", "empty", "notEmpty"],
  ...["round", "floor", "ceil", "abs", "toString", "toInt32", "toInt64", "toUInt32", "toUInt64"],
  ...["toFloat64", "greatest", "least", "intDiv", "modulo"],
  ...["if", "multiIf", "coalesce", "ifNull", "nullIf", "isNull", "isNotNull"],
  ...["has", "hasAny", "hasAll", "arrayJoin", "arrayFilter", "arrayMap", "arrayExists"],
  ...["arrayElement", "arrayDistinct", "arraySort", "arrayStringConcat", "indexOf", "tuple"],
] as const;

const byLowerCase = new Map<string, string>(names.map((name) => [name.toLowerCase(), name]));

/** The store's spelling of a function; undefined for one that is not allowed. */
export function allowedFunction(name: string): string | undefined {
  return byLowerCase.get(name.toLowerCase());
}

/** Listed on the reference page. */
export const functionNames: readonly string[] = names;

/** These would take a time in milliseconds for one in seconds, or refuse it. */
const momentTakers =
  /^(to(Date|DateTime|DateTime64|StartOf\w+|Year|Month|DayOfMonth|DayOfWeek|Hour|Minute|Second|YYYYMM|YYYYMMDD|TimeZone|UnixTimestamp|UnixTimestamp64Milli)|formatDateTime|date_trunc|date_diff|dateDiff|(add|subtract)\w+s)$/;

/** These return a part of the time of day, which a Date does not have. */
const clockTakers =
  /^to(Hour|Minute|Second|TimeZone|StartOf(Minute|Hour|FiveMinutes|TenMinutes|FifteenMinutes))$/;

/** These accept a DateTime64 only. */
const exactTakers = /^to(StartOfSecond|UnixTimestamp64Milli)$/;

const dayMs = 86_400_000;

/** Throws the refusal of an unknown time zone. */
export function argumentsFor(name: string, args: readonly Piece[]): Piece[] {
  const zone = args[zoneArgument(name)];
  if (zone !== undefined) requireZone(zone);
  const isPartOfDay = clockTakers.test(name) || stepsWithinDay(name, args);
  return args.map((arg) => {
    if (!momentTakers.test(name)) return arg;
    if (exactTakers.test(name)) return asExact(arg);
    return isPartOfDay && arg.unit === "day" ? asDateTime(arg) : asMoment(arg);
  });
}

/** True if another argument gives it a unit of less than a day. */
function stepsWithinDay(name: string, [first, second]: readonly Piece[]): boolean {
  if (name === "toStartOfInterval") {
    return second?.value?.kind === "interval" && second.value.ms < dayMs;
  }
  const unit = first?.value?.kind === "text" ? first.value.of : "";
  return name === "date_trunc" && /^(second|minute|hour)$/i.test(unit);
}

function asDateTime(day: Piece): Piece {
  return { ...day, sql: `toDateTime(${day.sql}, 'UTC')`, unit: "moment" };
}

function asExact(arg: Piece): Piece {
  if (arg.unit !== "day" && arg.unit !== "moment") return asMoment(arg);
  return { ...arg, sql: `toDateTime64(${arg.sql}, 3, 'UTC')`, unit: "moment" };
}
