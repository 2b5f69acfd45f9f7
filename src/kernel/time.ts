/** Unix milliseconds as ISO 8601 in UTC. */
export function toIso(ms: number): string {
  return new Date(ms).toISOString();
}

/** Formats a time for people: `2026-01-01 00:00:00 UTC`. `at`: ISO 8601, or Unix milliseconds; empty: never. */
export function formatUtc(at: string | number | Date | null | undefined): string {
  if (at === null || at === undefined) return "";
  return `${new Date(at).toISOString().replace("T", " ").slice(0, 19)} UTC`;
}
