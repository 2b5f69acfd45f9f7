/** Time zones: only known names are passed on, as the store would open any name as a file. */
import { isTimeZone } from "#kernel/time-zone.ts";
import type { Piece } from "./fold.ts";
import { refuse } from "./refusal.ts";

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
