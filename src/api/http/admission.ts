/** Limits the calls of a workspace in a minute. */
import type { Caller } from "#api/access/authenticate.ts";
import { ApiError } from "#api/error.ts";
import type { LimitAnswer, Limiter, TakeAnswer } from "#api/limiter.ts";

const minuteMs = 60_000;

type Headers = Record<string, string>;

/** Counts a call; returns the headers that describe the limit, undefined without one. Throws the 429. */
export function createAdmit(limiter: Limiter) {
  return (caller: Caller, nowMs: number): Headers | undefined | Promise<Headers> => {
    const { limitPerMinute: limit, workspaceId } = caller;
    if (limit === undefined) return undefined;
    const key = `workspace:${workspaceId}`;
    const taken = limiter.take([{ key, limit, durationMs: minuteMs, cost: 1 }], nowMs);
    return taken instanceof Promise
      ? taken.then((answer) => headersOf(answer, limit, nowMs))
      : headersOf(taken, limit, nowMs);
  };
}

function headersOf(taken: TakeAnswer, limit: number, nowMs: number): Headers {
  const { passed, remaining, resetMs } = taken.answers[0] as LimitAnswer;
  const resetSeconds = String(Math.max(0, Math.ceil((resetMs - nowMs) / 1_000)));
  const headers = {
    "RateLimit-Limit": String(limit),
    "RateLimit-Remaining": String(remaining),
    "RateLimit-Reset": resetSeconds,
  };
  if (passed) return headers;
  throw new ApiError(
    "user/too_many_requests/workspace_rate_limited",
    `This workspace has exceeded its API rate limit of ${limit}/1m0s. Please try again later.`,
    { headers: { ...headers, "Retry-After": resetSeconds } },
  );
}
