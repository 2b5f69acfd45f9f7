import { LRUCache } from "lru-cache";

type Count = { failures: number; sinceMs: number };

/** So many wrong tokens per address and minute. Tokens cannot be guessed: this spares the log. */
const limit = { failures: 10, windowMs: 60_000 };

/** Counts refused sign-ins per address. */
export function createAttempts() {
  const counts = new LRUCache<string, Count>({ max: 10_000, ttl: limit.windowMs });
  return {
    isBlocked: (address: string) => (counts.get(address)?.failures ?? 0) >= limit.failures,
    fail(address: string, nowMs: number): void {
      const before = counts.get(address);
      const isFresh = before === undefined || nowMs - before.sinceMs > limit.windowMs;
      if (isFresh) counts.set(address, { failures: 1, sinceMs: nowMs });
      else before.failures += 1;
    },
  };
}
