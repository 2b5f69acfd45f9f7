import { ApiError } from "#api/error.ts";

export type TimeLimit = <Result>(work: Promise<Result>) => Promise<Result>;

/** Rejects with a 408, or the error of `fail`, when work takes longer than `limitMs`; the work goes on, ignored. */
export function createTimeLimit(limitMs: number, fail: () => Error = tooLong): TimeLimit {
  const deadlines = createDeadlines(limitMs);
  return (work) =>
    new Promise((resolve, reject) => {
      const deadline = deadlines.start(() => reject(fail()));
      work.then(
        (result) => {
          deadlines.finish(deadline);
          resolve(result);
        },
        (error: Error) => {
          deadlines.finish(deadline);
          reject(error);
        },
      );
    });
}

/** A place in the list of those that wait. */
type Deadline = {
  readonly dueMs: number;
  /** undefined: it has ended. */
  miss: (() => void) | undefined;
  previous: Deadline | undefined;
  next: Deadline | undefined;
};

export type Deadlines = {
  /** `miss` is called when it has not ended in time. */
  start: (miss: () => void) => Deadline;
  finish: (deadline: Deadline) => boolean;
};

/** One timer serves all. (Fastify's `handlerTimeout` ends with the request's body, before the handler has begun.) */
export function createDeadlines(limitMs: number): Deadlines {
  const waiting = new WaitList();
  let timer: NodeJS.Timeout | undefined;
  const sweep = () => {
    const nowMs = performance.now();
    // All have the same timeout: the first that was added is the first that is due.
    for (let one = waiting.first; one !== undefined && one.dueMs <= nowMs; one = waiting.first) {
      const { miss } = one;
      waiting.remove(one);
      miss?.();
    }
    if (waiting.first !== undefined) return;
    clearInterval(timer);
    timer = undefined;
  };
  return {
    start: (miss) => {
      // Results that arrived while the event loop was blocked are read first: they were in time.
      timer ??= setInterval(() => setImmediate(sweep), Math.min(1_000, limitMs / 5)).unref();
      return waiting.add(performance.now() + limitMs, miss);
    },
    finish: (deadline) => waiting.remove(deadline),
  };
}

/** A list whose removed members lead nowhere: what has left a `Set` stays in memory, whole requests, until it is collected. */
class WaitList {
  first: Deadline | undefined;
  #last: Deadline | undefined;

  add(dueMs: number, miss: () => void): Deadline {
    const added: Deadline = { dueMs, miss, previous: this.#last, next: undefined };
    if (this.#last === undefined) this.first = added;
    else this.#last.next = added;
    this.#last = added;
    return added;
  }

  /** True if it was still waiting. */
  remove(one: Deadline): boolean {
    if (one.miss === undefined) return false;
    const { previous, next } = one;
    if (previous === undefined) this.first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    one.miss = undefined;
    one.previous = undefined;
    one.next = undefined;
    return true;
  }
}

export function tooLong(): ApiError {
  const detail = "The request took too long. Please try again, or ask for less at once.";
  return new ApiError("user/bad_request/request_timeout", detail);
}
