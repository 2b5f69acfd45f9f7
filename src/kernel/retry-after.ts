/**
 * The wait of a `Retry-After` header in ms; its value is seconds or a date (RFC 9110, section 10.2.3).
 * undefined when there is no header, or when it is neither.
 */
export function readRetryAfter(
  header: string | null | undefined,
  nowMs: number,
): number | undefined {
  if (header === null || header === undefined) return undefined;
  const afterMs = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - nowMs;
  return Number.isFinite(afterMs) ? Math.max(0, afterMs) : undefined;
}
