/**
 * Whether it is the name of an IANA time zone. An offset such as +02:00 is none; `Intl` takes names, such as PST,
 * that `Temporal` does not.
 */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z][\w+-]*(\/[\w+-]+)*$/.test(name)) return false;
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name);
    return true;
  } catch {
    return false;
  }
}
