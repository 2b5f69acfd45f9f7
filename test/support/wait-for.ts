import { setTimeout as delay } from "node:timers/promises";

type Wait = { withinMs: number; what: string };

/** Asks again and again until the answer is neither undefined nor false. Throws after the deadline. */
export async function waitFor<T>(
  ask: () => T | Promise<T>,
  { withinMs, what }: Wait,
): Promise<Exclude<T, undefined | false>> {
  const deadline = Date.now() + withinMs;
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
    await delay(20);
  }
  throw new Error(`waited ${withinMs} ms in vain for ${what}`, { cause: lastError });
}
