import { LRUCache } from "lru-cache";

/** Sign-ins per address: more than an office behind one address needs, and few for a provider. */
const limit = { count: 60, windowMs: 60_000 };

/** Counts what leads to requests to the provider. */
export function createLimit({ count, windowMs } = limit) {
  const counts = new LRUCache<string, { used: number; sinceMs: number }>({ max: 10_000 });
  /** Returns whether the address may. */
  return (address: string, nowMs: number): boolean => {
    const known = counts.get(address);
    const isFresh = known === undefined || nowMs - known.sinceMs >= windowMs;
    const current = isFresh ? { used: 0, sinceMs: nowMs } : known;
    current.used += 1;
    if (isFresh) counts.set(address, current);
    return current.used <= count;
  };
}
