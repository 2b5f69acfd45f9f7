/**
 * Exponential backoff: the wait after a failure that `failures` others came before. It is `firstMs` at
 * first, then doubles each time up to `longestMs`. For what p-retry cannot do: durable waits, and retries
 * without a limit.
 */
export function backoffMs(
  failures: number,
  { firstMs, longestMs }: { firstMs: number; longestMs: number },
): number {
  return Math.min(firstMs * 2 ** Math.min(failures, 30), longestMs);
}
