import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";

/** Rate limit of wrong tokens per address. Tokens cannot be guessed: this keeps the log short. */
const limit = { failures: 10, windowMs: 60_000 };

/** Further tokens are not distinguished: an address with so many is far over the limit. */
const rememberedTokens = 100;

type Count = { tokens: Set<string>; sinceMs: number };

/**
 * Counts the different wrong tokens of an address. The right one is never counted and never refused:
 * many people may share an address, and one with a wrong token must not lock out the others.
 */
export function createAttempts() {
  const counts = new LRUCache<string, Count>({ max: 10_000, ttl: limit.windowMs });
  return {
    /** Records a wrong token. Returns whether the address is over the limit. */
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

/** Long enough to distinguish tokens, too short to recover one. */
function markOf(token: string): string {
  return createHash("sha256").update(token).digest("hex").slice(0, 16);
}
