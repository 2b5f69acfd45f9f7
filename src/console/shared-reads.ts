/** Reads that cost much: those who ask the same within moments share one answer, and few are made at once. */
import { LRUCache } from "lru-cache";
import pLimit from "p-limit";

/** Fresh enough for pages that ask every few seconds. */
const freshMs = 2_000;
/** An answer about a large fleet takes half a megabyte. */
const mostKept = 20;

type Read<Args extends unknown[], Answer> = (...args: Args) => Promise<Answer>;

/** `atOnce`: how many different ones may be under way; others wait. */
export function shareReads<Args extends unknown[], Answer extends object>(
  read: Read<Args, Answer>,
  { atOnce }: { atOnce: number },
): Read<Args, Answer> {
  const limit = pLimit(atOnce);
  const answers = new LRUCache<string, Answer, { args: Args }>({
    max: mostKept,
    ttl: freshMs,
    fetchMethod: (_key, _stale, { context }) => limit(() => read(...context.args)),
  });
  return (...args) => answers.forceFetch(JSON.stringify(args), { context: { args } });
}
