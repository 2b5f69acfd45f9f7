/** Times as fields of a form have them: without an offset, in the browser's time zone. */

export function localZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** The instant of 2026-12-20T00:00 here, in ISO 8601; undefined for an empty field. */
export function toInstant(local: string): string | undefined {
  return local === "" ? undefined : new Date(local).toISOString();
}
