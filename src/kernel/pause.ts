import { setTimeout as delay } from "node:timers/promises";

/** Waits. An abort ends it early, without a throw; nothing of an ended wait stays with the signal. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(Math.max(0, ms), undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
