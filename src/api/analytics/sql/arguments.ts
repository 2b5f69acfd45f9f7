/** Converts the arguments of time functions into types that these accept. */
import type { Piece } from "./fold.ts";
import { asMoment, requireZone, zoneArgument } from "./units.ts";

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
