/** Runs the steps of a sync, durably in a worker and directly in a command, and retries them. */
import { setTimeout as delay } from "node:timers/promises";
import { backoffMs } from "#kernel/async.ts";

export type Steps = {
  /** Runs the action and records its result. The action never throws. */
  run: <T>(name: string, action: () => Promise<T>) => Promise<T>;
  sleep: (ms: number) => Promise<void>;
};

/** Records nothing: a command that is run again starts from the beginning. */
export const plainSteps: Steps = {
  run: (_name, action) => action(),
  sleep: async (ms) => {
    await delay(ms);
  },
};

/** The outcome of one attempt. `later`: worth a retry, if possible only after `afterMs`. */
export type Attempt<T> =
  | { kind: "done"; value: T }
  | { kind: "later"; reason: string; afterMs?: number }
  | { kind: "failed"; reason: string };

/** `retries` do not count the first attempt; no wait between two attempts exceeds `longestWaitMs`. */
export type RetryLimits = { retries: number; longestWaitMs: number };

/** A worker waits out an outage of about a quarter of an hour; somebody at a terminal does not. */
export const retryLimits = {
  worker: { retries: 20, longestWaitMs: 60_000 },
  terminal: { retries: 5, longestWaitMs: 10_000 },
} as const satisfies Record<string, RetryLimits>;

export type Tools = { steps: Steps; retryLimits: RetryLimits };

/** Retries until the result is final. Returns `failed` also when the retries are used up. */
export function retryStep<T>(
  tools: Tools,
  name: string,
  attempt: () => Promise<Attempt<T>>,
): Promise<Exclude<Attempt<T>, { kind: "later" }>> {
  return retry(tools, () => tools.steps.run(name, attempt));
}

/** Retries like `retryStep`, for attempts that run their own steps. */
export async function retry<T>(
  { steps, retryLimits: { retries, longestWaitMs } }: Tools,
  attempt: () => Promise<Attempt<T>>,
): Promise<Exclude<Attempt<T>, { kind: "later" }>> {
  for (let tried = 0; ; tried += 1) {
    const result = await attempt();
    if (result.kind !== "later") return result;
    if (tried === retries) return { kind: "failed", reason: result.reason };
    await steps.sleep(Math.min(result.afterMs ?? backoffMs(tried, backoff), longestWaitMs));
  }
}

export const backoff = { firstMs: 500, longestMs: 512_000 };
