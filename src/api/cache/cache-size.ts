/** How many keys to keep in memory when the settings do not say, and how many of them one is worth. */
import type { KeyRecord } from "#api/cache/key-record.ts";

const bytesPerKey = 620;
const mostKeys = 1_000_000;

/** As many as a third of the heap holds: a small machine must not run out of memory for a cache. */
export function cachedKeysOf(heapLimitBytes: number): number {
  return Math.min(mostKeys, Math.floor(heapLimitBytes / 3 / bytesPerKey));
}

/** What an ordinary key carries is in the bytes of each. */
const ordinaryLength = 500;

/** Bytes in memory for each character of JSON: of `[{},{}]` about 20, of texts 2. */
const bytesOfMeta = 16;
const bytesOfRest = 4;

/** How many keys' room a key takes: a few with large metadata must not fill the memory of all. */
export function weightOfKey({ meta, identity, permissions, roles, ratelimits }: KeyRecord): number {
  const rest = JSON.stringify([permissions, roles, ratelimits, identity?.ratelimits]).length;
  const metas = JSON.stringify([meta, identity?.meta]).length;
  if (rest + metas <= ordinaryLength) return 1;
  return Math.ceil((metas * bytesOfMeta + rest * bytesOfRest) / bytesPerKey);
}
