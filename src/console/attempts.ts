import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";

/** So many wrong tokens per address and minute. Tokens cannot be guessed: this spares the log. */
const limit = { failures: 10, windowMs: 60_000 };

/** More than these are not told apart: an address that gets there is over the limit by far. */
const rememberedTokens = 100;

type Count = { tokens: Set<string>; sinceMs: number };

/**
 * Counts the different wrong tokens of an address. The right one is never counted and never refused:
 * many people may share an address, and one with a wrong token must not keep the others out.
 */
export function createAttempts() {
  const counts = new LRUCache<string, Count>({ max: 10_000, ttl: limit.windowMs });
  return {
    /** Notes a wrong token. Answers whether the address has shown too many by now. */
    fail(address: string, token: string, nowMs: number): boolean {
      const known = counts.get(address);
      const isFresh = known === undefined || nowMs - known.sinceMs > limit.windowMs;
      const count = isFresh ? { tokens: new Set<string>(), sinceMs: nowMs } : known;
      if (count.tokens.size < rememberedTokens) count.tokens.add(markOf(token));
      if (isFresh) counts.set(address, count);
      return count.tokens.size > limit.failures;
    },
  };
}

/** Enough to tell tokens apart, and too little to find one by. */
function markOf(token: string): string {
  return createHash("sha256").update(token).digest("hex").slice(0, 16);
}
