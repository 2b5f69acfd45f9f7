/**
 * How long to wait after so many failures before this one: `firstMs`, then twice as long each time, up to
 * `longestMs`. For waits that p-retry cannot make: durable ones, and those between attempts without end.
 */
export function backoffMs(
  failures: number,
  { firstMs, longestMs }: { firstMs: number; longestMs: number },
): number {
  return Math.min(firstMs * 2 ** Math.min(failures, 30), longestMs);
}
