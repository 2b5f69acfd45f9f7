import { ApiError } from "#api/error.ts";

type Deadline = { dueMs: number; reject: (error: Error) => void };

export type TimeLimit = <Result>(work: Promise<Result>) => Promise<Result>;

/**
 * Rejects when work takes longer than `limitMs`, with a 408 unless `fail` makes another error; the work
 * itself continues, and its result is ignored. One timer serves all requests. (Fastify's own
 * `handlerTimeout` ends with the request's body, before the handler has begun.)
 */
export function createTimeLimit(limitMs: number, fail: () => Error = tooLong): TimeLimit {
  // All have the same timeout: the first that was added is the first that is due.
  const waiting = new Set<Deadline>();
  let timer: NodeJS.Timeout | undefined;
  const sweep = () => {
    const nowMs = performance.now();
    for (const one of waiting) {
      if (one.dueMs > nowMs) break;
      waiting.delete(one);
      one.reject(fail());
    }
    if (waiting.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
  return (work) =>
    new Promise((resolve, reject) => {
      const one: Deadline = { dueMs: performance.now() + limitMs, reject };
      waiting.add(one);
      // Results that arrived while the event loop was blocked are read first: they were in time.
      timer ??= setInterval(() => setImmediate(sweep), Math.min(1_000, limitMs / 5)).unref();
      work.then(
        (result) => {
          waiting.delete(one);
          resolve(result);
        },
        (error: Error) => {
          waiting.delete(one);
          reject(error);
        },
      );
    });
}

function tooLong(): ApiError {
  const detail = "The request took too long. Please try again, or ask for less at once.";
  return new ApiError("user/bad_request/request_timeout", detail);
}
