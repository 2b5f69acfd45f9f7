import { setTimeout as delay } from "node:timers/promises";

/** What a calm machine needs at most. */
type Wait = { withinMs: number; what: string };

/**
 * A machine that is busy with something else is several times slower, or stands still for seconds:
 * that is no fault of what is waited for. What never comes has not come after this either.
 */
const slack = 6;

/** Often at first; seldom once it takes long, because each question costs the servers more than the wait. */
const pauseMs = (waitedMs: number) => Math.min(150, Math.max(20, waitedMs / 20));

/**
 * Asks again and again until the answer is neither undefined nor false. Throws after `slack` times
 * as long as a calm machine needs.
 */
export async function waitFor<T>(
  ask: () => T | Promise<T>,
  { withinMs, what }: Wait,
): Promise<Exclude<T, undefined | false>> {
  const startedMs = Date.now();
  const deadline = startedMs + withinMs * slack;
  let lastError: unknown;
  while (Date.now() < deadline) {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) {
        return answer as Exclude<T, undefined | false>;
      }
    } catch (error) {
      lastError = error;
    }
    await delay(pauseMs(Date.now() - startedMs));
  }
  throw new Error(`waited ${withinMs * slack} ms in vain for ${what}`, { cause: lastError });
}
