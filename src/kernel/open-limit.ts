/** Limits the calls that each caller has open at a time, or makes in a second: thousands would hold up everybody else. */
import { LRUCache } from "lru-cache";
import { ProblemError } from "./problem.ts";

type OpenCall = {
  /** The caller's name. */
  reader: string;
  /** Aborted when the caller is gone. */
  signal?: AbortSignal | undefined;
  /** True if nobody waits for the answer. */
  isSent?: boolean;
  /** Calls about different things count apart. */
  about?: string;
};

type Limit = { heldMs: number; most?: number; of?: "reads" | "calls" };

/** A call that goes on although its caller is gone, or that was sent, counts for `heldMs` after its end. Throws a 429. */
export function createOpenLimit({ heldMs, most = 100, of = "reads" }: Limit) {
  const open = new Map<string, number>();
  const count = (key: string, by: 1 | -1) => {
    const now = (open.get(key) ?? 0) + by;
    if (now > 0) open.set(key, now);
    else open.delete(key);
  };
  return async <Answer>(
    { reader, signal, isSent = false, about = "" }: OpenCall,
    call: () => Promise<Answer>,
  ): Promise<Answer> => {
    const key = `${reader} ${about}`;
    if ((open.get(key) ?? 0) >= most) {
      const detail = `${reader} has ${most} ${of} open already: wait for their answers`;
      throw new ProblemError({ status: 429, code: "too_many_calls", detail });
    }
    count(key, 1);
    const end = () => count(key, -1);
    const endLater = () => void setTimeout(end, heldMs).unref();
    return call().finally(() => (isSent || signal?.aborted ? endLater() : end()));
  };
}

/** Returns a function that counts by name, and is true for what comes after `most` in one second. */
export function createPaceLimit(
  most: number,
  names = 1_000,
): (name: string, count?: number) => boolean {
  const counts = new LRUCache<string, { sum: number }>({ max: names, ttl: 1_000 });
  return (name, count = 1) => {
    const known = counts.get(name) ?? { sum: 0 };
    if (known.sum === 0) counts.set(name, known);
    known.sum += count;
    return known.sum > most;
  };
}
