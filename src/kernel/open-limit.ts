/** Limits the reads that each caller has open at a time: thousands would hold up a Cancel, or everybody else's pages. */
import { ProblemError } from "./problem.ts";

const mostReads = 100;

type Reader = {
  /** The caller's name. */
  reader: string;
  /** Aborted when the caller is gone. */
  signal?: AbortSignal;
  /** The path of a read that is sent: nobody waits for its answer, and each path counts for itself. */
  sentTo?: string | undefined;
};

/** A read that goes on although its caller is gone, or that was sent, counts for `heldMs` after its end. Throws a 429. */
export function createReadLimit(heldMs: number) {
  const open = new Map<string, number>();
  const count = (key: string, by: 1 | -1) => {
    const now = (open.get(key) ?? 0) + by;
    if (now > 0) open.set(key, now);
    else open.delete(key);
  };
  return async <Answer>(
    { reader, signal, sentTo }: Reader,
    read: () => Promise<Answer>,
  ): Promise<Answer> => {
    const key = `${reader} ${sentTo ?? ""}`;
    if ((open.get(key) ?? 0) >= mostReads) throw tooManyReads(reader);
    count(key, 1);
    const end = () => count(key, -1);
    const endLater = () => void setTimeout(end, heldMs).unref();
    return read().finally(() => (signal?.aborted || sentTo !== undefined ? endLater() : end()));
  };
}

function tooManyReads(reader: string): ProblemError {
  const detail = `${reader} has ${mostReads} reads open already: wait for their answers`;
  return new ProblemError({ status: 429, code: "too_many_reads", detail });
}
