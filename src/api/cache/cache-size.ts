/** The default size of the key cache, and the weight of a key in it. */
import type { KeyRecord } from "#api/cache/key-record.ts";

const bytesPerKey = 620;
const mostKeys = 1_000_000;

/** Returns as many keys as a third of the heap holds: a small machine must not run out of memory for a cache. */
export function cachedKeysOf(heapLimitBytes: number): number {
  return Math.min(mostKeys, Math.floor(heapLimitBytes / 3 / bytesPerKey));
}

/** Up to so many characters of JSON, a key's attributes are included in `bytesPerKey`. */
const ordinaryLength = 500;

/** Bytes in memory for each character of JSON: for `[{},{}]` about 20, for strings 2. */
const bytesOfMeta = 16;
const bytesOfRest = 4;

/**
 * Returns the number of ordinary keys that a key counts as: without this, a few keys with large metadata would
 * exceed the memory that the cache is meant to use.
 */
export function weightOfKey({ meta, identity, permissions, roles, ratelimits }: KeyRecord): number {
  const rest = JSON.stringify([permissions, roles, ratelimits, identity?.ratelimits]).length;
  const metas = JSON.stringify([meta, identity?.meta]).length;
  if (rest + metas <= ordinaryLength) return 1;
  return Math.ceil((metas * bytesOfMeta + rest * bytesOfRest) / bytesPerKey);
}
