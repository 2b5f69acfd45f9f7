/** How the work of a sync is carried out: durably in a worker, plainly in a command. */

import { setTimeout as delay } from "node:timers/promises";
import { backoffMs } from "#kernel/backoff.ts";

export type Steps = {
  /** Carries the action out, and keeps what it answers. The action never throws. */
  run: <T>(name: string, action: () => Promise<T>) => Promise<T>;
  sleep: (ms: number) => Promise<void>;
};

/** Nothing is kept: a command that ends begins anew. */
export const plainSteps: Steps = {
  run: (_name, action) => action(),
  sleep: async (ms) => {
    await delay(ms);
  },
};

/** What came of asking once. `later`: it may well come another time, at best after so long. */
export type Attempt<T> =
  | { kind: "done"; value: T }
  | { kind: "later"; reason: string; afterMs?: number }
  | { kind: "failed"; reason: string };

/** Asked for once more than `retries`, and never kept waiting for longer than `longestWaitMs`. */
export type Patience = { retries: number; longestWaitMs: number };

/** A worker waits out an outage of about a quarter of an hour; somebody at a terminal does not. */
export const patience = {
  worker: { retries: 20, longestWaitMs: 60_000 },
  terminal: { retries: 5, longestWaitMs: 10_000 },
} as const satisfies Record<string, Patience>;

export type Tools = { steps: Steps; patience: Patience };

/** Asks until there is an answer. `failed` also when it was asked for as often as patience allows. */
export function persist<T>(
  tools: Tools,
  name: string,
  attempt: () => Promise<Attempt<T>>,
): Promise<Exclude<Attempt<T>, { kind: "later" }>> {
  return insist(tools, () => tools.steps.run(name, attempt));
}

/** As `persist`, with attempts that are steps themselves. */
export async function insist<T>(
  { steps, patience: { retries, longestWaitMs } }: Tools,
  attempt: () => Promise<Attempt<T>>,
): Promise<Exclude<Attempt<T>, { kind: "later" }>> {
  for (let tried = 0; ; tried += 1) {
    const answer = await attempt();
    if (answer.kind !== "later") return answer;
    if (tried === retries) return { kind: "failed", reason: answer.reason };
    await steps.sleep(Math.min(answer.afterMs ?? backoffMs(tried, backoff), longestWaitMs));
  }
}

export const backoff = { firstMs: 500, longestMs: 512_000 };
