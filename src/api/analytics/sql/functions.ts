/** The functions that a query may use, as ClickHouse spells them. */

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
