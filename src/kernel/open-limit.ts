/** Limits the calls that each caller has open at a time: thousands would hold up a Cancel, or everybody else's pages. */
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
