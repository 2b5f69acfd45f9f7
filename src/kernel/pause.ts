import { setTimeout as delay } from "node:timers/promises";

/** Waits. An abort ends the wait early, without an error. Leaves no listener on the signal afterwards. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(Math.max(0, ms), undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
