/** Tries requests to a registry again after trouble that may be temporary. */
import { setTimeout as delay } from "node:timers/promises";
import pRetry from "p-retry";
import { unlessLate } from "#kernel/async.ts";
import { ProblemError } from "#kernel/problem.ts";
import { RegistryTrouble, refuse, TooLarge } from "./image-name.ts";

/** Retries after the first attempt; their time limit; the longest `Retry-After` of a registry that we accept. */
const retries = 3;
const patienceMs = 30_000;
const longestAskedWaitMs = 10_000;
/** Limit of all attempts: each has several requests that may each take almost their timeout. */
const wholeMs = patienceMs + longestAskedWaitMs;

/** `notFoundWaitMs`: how long to ask again for what is not found; absent: not at all. */
export type Patience = { notFoundWaitMs?: number; signal?: AbortSignal | undefined };

/** Retries no sooner than `Retry-After`. Throws a 503 registry_unavailable if trouble lasts; `describe` says what. */
export async function withRetries<T>(
  action: () => Promise<T>,
  describe: (why: string) => string,
  { notFoundWaitMs = 0, signal }: Patience = {},
): Promise<T> {
  const untilMs = performance.now() + notFoundWaitMs;
  let notBeforeMs = 0;
  let troubles = 0;
  const attempt = async () => {
    await delayUntil(notBeforeMs);
    return action();
  };
  try {
    const tried = pRetry(attempt, {
      retries: Number.POSITIVE_INFINITY,
      ...(signal !== undefined && { signal }),
      minTimeout: 200,
      maxTimeout: 1_000,
      maxRetryTime: patienceMs,
      onFailedAttempt: ({ error }) => {
        const { afterMs = 0 } = error instanceof RegistryTrouble ? error : {};
        notBeforeMs = performance.now() + afterMs;
      },
      shouldRetry: ({ error }) =>
        isTemporary(error)
          ? ++troubles <= retries
          : isNotFound(error) && performance.now() < untilMs,
    });
    const late = new RegistryTrouble("it takes too long");
    return await unlessLate(() => tried, { limitMs: wholeMs, late });
  } catch (error) {
    if (!(error instanceof RegistryTrouble)) throw error;
    throw refuse("registry_unavailable", `${describe(error.message)}; try again ${whenOf(error)}`);
  }
}

function isTemporary(error: Error): boolean {
  if (!(error instanceof RegistryTrouble) || error instanceof TooLarge) return false;
  return (error.afterMs ?? 0) <= longestAskedWaitMs;
}

function isNotFound(error: Error): boolean {
  return error instanceof ProblemError && error.code === "image_not_found";
}

async function delayUntil(timeMs: number): Promise<void> {
  const waitMs = timeMs - performance.now();
  if (waitMs > 0) await delay(waitMs);
}

function whenOf({ afterMs = 0 }: RegistryTrouble): string {
  return afterMs === 0 ? "later" : `in ${Math.ceil(afterMs / 1_000)} seconds`;
}
