/** Limits the reads that each caller has open at a time: thousands would hold up a Cancel, or everybody else's pages. */
import { ProblemError } from "./problem.ts";

const mostReads = 100;

type Reader = {
  /** The caller's name. */
  reader: string;
  /** Aborted when the caller is gone. */
  signal?: AbortSignal;
  /** Nobody waits for the answer. */
  isSent?: boolean;
};

/** A read that goes on although its caller is gone, or that was sent, counts for `heldMs` after its end. Throws a 429. */
export function createReadLimit(heldMs: number) {
  const open = new Map<string, number>();
  const count = (reader: string, by: 1 | -1) => {
    const now = (open.get(reader) ?? 0) + by;
    if (now > 0) open.set(reader, now);
    else open.delete(reader);
  };
  return async <Answer>(
    { reader, signal, isSent = false }: Reader,
    read: () => Promise<Answer>,
  ): Promise<Answer> => {
    if ((open.get(reader) ?? 0) >= mostReads) throw tooManyReads(reader);
    count(reader, 1);
    const end = () => count(reader, -1);
    const endLater = () => void setTimeout(end, heldMs).unref();
    return read().finally(() => (signal?.aborted || isSent ? endLater() : end()));
  };
}

function tooManyReads(reader: string): ProblemError {
  const detail = `${reader} has ${mostReads} reads open already: wait for their answers`;
  return new ProblemError({ status: 429, code: "too_many_reads", detail });
}
