/**
 * What a time is counted in. Single events have theirs in unix milliseconds, the sums as a DateTime or
 * Date: the store compares the one with the other as bare numbers, and so all or nothing would be found.
 */
import type { Piece } from "./fold.ts";
import { refuse } from "./refusal.ts";

/** "moment": a Date or DateTime of any kind; "state": no time, but what the store sums up further. */
export type Unit = "ms" | "seconds" | "moment" | "state";

/** Columns with a unit, by name. */
export type Units = ReadonlyMap<string, Unit>;

const momentMakers =
  /^(now|now64|today|yesterday|toDate|toDateTime|toDateTime64|toStartOf\w+|date_trunc|fromUnixTimestamp|fromUnixTimestamp64Milli|toTimeZone|(add|subtract)\w+s)$/;

/** Of these a time in milliseconds would be taken for one in seconds, or refused. */
const momentTakers =
  /^(to(Date|DateTime|DateTime64|StartOf\w+|Year|Month|DayOfMonth|DayOfWeek|Hour|Minute|Second|YYYYMM|YYYYMMDD|TimeZone|UnixTimestamp)|formatDateTime|date_trunc|date_diff|dateDiff|(add|subtract)\w+s)$/;

const keepers =
  /^(min|max|any|anyLast|argMin|argMax|minIf|maxIf|ifNull|coalesce|nullIf|greatest|least|lagInFrame|leadInFrame|first_value|last_value)$/;

/** The unit of what a function answers. */
export function unitOfCall(name: string, args: readonly Piece[]): Unit | undefined {
  if (name === "toUnixTimestamp64Milli") return "ms";
  if (name === "toUnixTimestamp") return "seconds";
  if (momentMakers.test(name)) return "moment";
  return keepers.test(name) ? args[0]?.unit : undefined;
}

/** An argument, as the function can read it. */
export function argumentFor(name: string, arg: Piece): Piece {
  return momentTakers.test(name) ? asMoment(arg) : arg;
}

/** The same moment as a DateTime, of what is in milliseconds. */
export function asMoment(piece: Piece): Piece {
  if (piece.unit !== "ms") return piece;
  return {
    ...piece,
    sql: `fromUnixTimestamp64Milli(toInt64(${piece.sql}), 'UTC')`,
    unit: "moment",
  };
}

/** What is left of a unit by `+` and `-`. */
export function unitOfSum(left: Piece, right: Piece): Unit | undefined {
  if (left.unit === "state" || right.unit === "state") return undefined;
  if (left.unit === "moment" || right.unit === "moment") {
    return left.unit === right.unit ? undefined : "moment";
  }
  return right.unit === undefined ? left.unit : undefined;
}

/** Two sides of a comparison in the same unit, where one of them is known to be a time. */
export function inOneUnit(left: Piece, right: Piece): [Piece, Piece] {
  if (left.unit === undefined && right.unit === undefined) return [left, right];
  const units = [unitOf(left), unitOf(right)] as const;
  if (units.includes(undefined) || units.includes("state")) return [left, right];
  if (units[0] === units[1])
    return units[0] === "moment" ? [parsed(left), parsed(right)] : [left, right];
  const unit = units.includes("ms") ? "ms" : "seconds";
  return [countedIn(unit, left, units[0]), countedIn(unit, right, units[1])];
}

/** Also of a literal: there is no event of before 1973, in whose seconds a later time's milliseconds are. */
function unitOf({ unit, value }: Piece): Unit | undefined {
  if (unit !== undefined) return unit;
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

/** A text with a time of the day is none that a Date could be compared with. */
function parsed(piece: Piece): Piece {
  if (piece.value?.kind !== "text" || piece.value.of.trim().length <= 10) return piece;
  return { ...piece, sql: `toDateTime64(${piece.sql}, 3, 'UTC')` };
}

/** What the sums keep of a latency is bytes, until it is merged. */
export function requireReadable(answered: Units): void {
  const state = [...answered].find(([, unit]) => unit === "state")?.[0];
  if (state === undefined) return;
  const merge = state.endsWith("avg") ? "avgMerge" : "quantilesTDigestMerge(0.75)";
  throw refuse(
    "syntax",
    `The column ${state} is a state that cannot be answered: merge it, as by ${merge}(${state}).`,
  );
}
