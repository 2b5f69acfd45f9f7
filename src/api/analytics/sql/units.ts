/** Units of times: raw rows have ms, rollups a DateTime or Date, and the store would compare the two as plain numbers. */
import { isTimeZone } from "#kernel/time.ts";
import { refuse } from "./cursor.ts";
import type { Piece, Unit } from "./fold.ts";

const dayMs = 86_400_000;

export type Units = ReadonlyMap<string, Unit>;

const dayMakers = /^(today|yesterday|toDate|toStartOf(Week|Month|Quarter|Year))$/;

const momentMakers =
  /^(now|now64|toDateTime|toDateTime64|toStartOf\w+|date_trunc|fromUnixTimestamp|fromUnixTimestamp64Milli|toTimeZone|(add|subtract)\w+s)$/;

/** These map a Date to a Date. */
const dayMovers = /^(add|subtract)(Days|Weeks|Months)$/;

const keepers =
  /^(min|max|any|anyLast|argMin|argMax|minIf|maxIf|ifNull|coalesce|nullIf|greatest|least|lagInFrame|leadInFrame|first_value|last_value)$/;

/** These do not return a state when they are given one. */
const stateReaders =
  /^(\w+Merge|count|countIf|uniq\w*|length|empty|notEmpty|isNull|isNotNull|has\w*|indexOf)$/;

export function unitOfCall(name: string, args: readonly Piece[]): Unit | undefined {
  if (args.some(({ unit }) => unit === "state"))
    return stateReaders.test(name) ? undefined : "state";
  if (dayMakers.test(name) || (dayMovers.test(name) && args[0]?.unit === "day")) return "day";
  if (name === "toUnixTimestamp64Milli") return "ms";
  if (name === "toUnixTimestamp") return "seconds";
  if (momentMakers.test(name)) return "moment";
  return keepers.test(name) ? args[0]?.unit : undefined;
}

/** Converts a time in milliseconds to a DateTime. */
export function asMoment(piece: Piece): Piece {
  if (piece.unit !== "ms") return piece;
  return {
    ...piece,
    sql: `fromUnixTimestamp64Milli(toInt64(${piece.sql}), 'UTC')`,
    unit: "moment",
  };
}

/** A value built of these is a state, opaque bytes, if one of them is. */
export function carriedState(pieces: readonly Piece[]): Pick<Piece, "unit" | "column"> {
  const state = pieces.find(({ unit }) => unit === "state");
  return state === undefined ? {} : { unit: "state", column: state.column };
}

export function unitOfSum(left: Piece, right: Piece): Unit | undefined {
  if (left.unit === "state" || right.unit === "state") return undefined;
  if (isMoment(left.unit) || isMoment(right.unit)) {
    if (isMoment(left.unit) && isMoment(right.unit)) return undefined;
    return left.unit === "day" && movesByDays(right.value) ? "day" : "moment";
  }
  return right.unit === undefined ? left.unit : undefined;
}

function movesByDays(by: Piece["value"]): boolean {
  return by?.kind === "number" || (by?.kind === "interval" && by.ms % dayMs === 0);
}

const isMoment = (unit: Unit | undefined) => unit === "moment" || unit === "day";

/** Converts the sides of a comparison to the same unit if one of them is known to be a time. */
export function inOneUnit(left: Piece, right: Piece): [Piece, Piece] {
  if (left.unit === undefined && right.unit === undefined) return [left, right];
  const units = [unitOf(left), unitOf(right)] as const;
  if (units.includes(undefined) || units.includes("state")) return [left, right];
  if (units[0] === units[1])
    return units[0] === "moment" ? [parsed(left), parsed(right)] : [left, right];
  const unit = units.includes("ms") ? "ms" : "seconds";
  return [countedIn(unit, left, units[0]), countedIn(unit, right, units[1])];
}

/** Also of a literal, by its size: events are later than 1973, so that seconds and milliseconds cannot be confused. */
function unitOf({ unit, value }: Piece): Exclude<Unit, "day"> | undefined {
  if (unit !== undefined) return unit === "day" ? "moment" : unit;
  if (value?.kind === "text") return /^\d{4}-\d{2}-\d{2}/.test(value.of) ? "moment" : undefined;
  if (value?.kind !== "number" || value.of < 1e8) return undefined;
  return value.of > 1e11 ? "ms" : "seconds";
}

function countedIn(unit: Unit, piece: Piece, from: Unit | undefined): Piece {
  if (from === unit) return piece;
  const { sql } = piece;
  if (from === "seconds") return { ...piece, sql: `(toInt64(${sql}) * 1000)`, unit };
  const written =
    unit === "ms"
      ? `toUnixTimestamp64Milli(toDateTime64(${sql}, 3, 'UTC'))`
      : `toUnixTimestamp(toDateTime64(${sql}, 3, 'UTC'))`;
  return { ...piece, sql: written, unit };
}

/** The left operand of IN and the list, converted to the same unit if all of them are times. */
export function listInOneUnit(left: Piece, items: readonly Piece[]): Piece[] {
  const all = [left, ...items];
  const units = all.map(unitOf);
  if (left.unit === undefined || isReadAsLeft(left, items)) return all;
  if (units.some((unit) => unit === undefined || unit === "state")) return all;
  return all.map((piece, index) => countedIn("ms", piece, units[index]));
}

/** True if the store itself converts all of the list to the left operand's type. */
function isReadAsLeft({ unit }: Piece, items: readonly Piece[]): boolean {
  return items.every(({ unit: own, value }) => {
    if (own !== undefined) return own === unit && unit !== "moment";
    return value?.kind === "text" && (unit === "moment" || (unit === "day" && isDate(value.of)));
  });
}

/** The left operand of IN, converted to the unit of the subquery's rows. */
export function asRowsAre(rows: Unit | undefined, left: Piece): Piece {
  if (isMoment(rows)) return asMoment(left);
  return rows === "ms" && isMoment(left.unit) ? countedIn("ms", left, "moment") : left;
}

const isDate = (text: string) => text.trim().length <= 10;

/** A Date cannot be compared with a text that has a time of day: the text is converted. */
function parsed(piece: Piece): Piece {
  if (piece.value?.kind !== "text" || isDate(piece.value.of)) return piece;
  return { ...piece, sql: `toDateTime64(${piece.sql}, 3, 'UTC')` };
}

/** Refuses a query that returns an aggregate state: it is opaque bytes until it is merged. */
export function requireReadable(answered: Units): void {
  const state = [...answered].find(([, unit]) => unit === "state")?.[0];
  if (state === undefined) return;
  const merge = state.endsWith("avg") ? "avgMerge" : "quantilesTDigestMerge(0.75)";
  throw refuse(
    "syntax",
    `The column ${state} is a state that cannot be answered: merge it, as by ${merge}(${state}).`,
  );
}

const third =
  /^(toDateTime64|toDayOfWeek|toStartOfWeek|toStartOfInterval|date_trunc|formatDateTime|fromUnixTimestamp)$/;
const second =
  /^(now64|fromUnixTimestamp64Milli|to(Date|DateTime|TimeZone|Year|Month|DayOfMonth|Hour|Minute|Second|YYYYMM|YYYYMMDD|UnixTimestamp|StartOf\w+))$/;

/** The index of the argument that is a time zone; -1: none. */
export function zoneArgument(name: string): number {
  if (name === "now") return 0;
  if (/^date_?diff$/i.test(name)) return 3;
  if (third.test(name)) return 2;
  return second.test(name) ? 1 : -1;
}

/** Throws for anything but a literal with the name of a zone. */
export function requireZone({ value }: Piece): void {
  if (value?.kind !== "text") {
    throw refuse("syntax", "A time zone is a text of a query, such as 'Europe/Berlin'.");
  }
  requireZoneName(value.of);
}

export function requireZoneName(name: string): void {
  if (isTimeZone(name)) return;
  throw refuse(
    "syntax",
    `There is no time zone "${name.slice(0, 64)}"; write it as 'Europe/Berlin'.`,
  );
}
