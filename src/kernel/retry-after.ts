/**
 * How long a `Retry-After` header asks to wait, in ms: it is seconds or a date (RFC 9110, section
 * 10.2.3). undefined when there is none, or when it is neither.
 */
export function readRetryAfter(
  header: string | null | undefined,
  nowMs: number,
): number | undefined {
  if (header === null || header === undefined) return undefined;
  const afterMs = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - nowMs;
  return Number.isFinite(afterMs) ? Math.max(0, afterMs) : undefined;
}
