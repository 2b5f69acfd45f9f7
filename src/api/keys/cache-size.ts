/** How many keys to keep in memory when the settings do not say. */

const bytesPerKey = 620;
const mostKeys = 1_000_000;

/** As many as a third of the heap holds: a small machine must not run out of memory for a cache. */
export function cachedKeysOf(heapLimitBytes: number): number {
  return Math.min(mostKeys, Math.floor(heapLimitBytes / 3 / bytesPerKey));
}
