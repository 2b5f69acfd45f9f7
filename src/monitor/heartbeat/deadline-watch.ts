/**
 * Polls for deadlines that have passed, as long as the worker runs. It has no state of its own: all deadlines
 * are in Postgres, so that every worker can poll, and killing one loses nothing.
 */
import { setTimeout as delay } from "node:timers/promises";
import { startBackground } from "#kernel/async.ts";
import type { Log } from "#kernel/log.ts";
import { patience, sendToRestate } from "#kernel/restate.ts";
import { type DeadlinesPassed, deadlineService } from "#monitor/internal.ts";
import type { Deadlines } from "./deadlines.ts";

type Parts = {
  deadlines: Pick<Deadlines, "correct" | "findPassed" | "postpone" | "next">;
  /** Resolves once Restate has accepted the call. */
  send: (passed: DeadlinesPassed) => Promise<void>;
  log: Log;
  /** Rejects when it is aborted. */
  pause?: (ms: number, value: undefined, options: { signal: AbortSignal }) => Promise<void>;
};

/** Another worker may set a deadline that is nearer than any known here. */
const longestPauseMs = 1_000;
/** Deadlines that pass shortly after each other are found together. */
const shortestPauseMs = 50;
/** Times of a wrong clock are not urgent. */
const correctEveryMs = 60_000;

export function watchDeadlines(parts: Parts): { stop: () => Promise<void> } {
  return startBackground((signal) => watch(parts, signal));
}

async function watch(parts: Parts, signal: AbortSignal): Promise<void> {
  const { pause = delay } = parts;
  let correctedMs = Number.NEGATIVE_INFINITY;
  const turn = async () => {
    if (performance.now() - correctedMs > correctEveryMs) {
      correctedMs = performance.now();
      // Deadlines are checked whether it succeeds or not.
      await parts.deadlines.correct().catch((error) => {
        parts.log.warn(
          { detail: (error as Error).message },
          "times of a wrong clock not corrected",
        );
      });
    }
    return look(parts);
  };
  while (!signal.aborted) {
    const pauseMs = await turn().catch((error) => {
      parts.log.warn({ detail: (error as Error).message }, "deadlines not checked");
      return longestPauseMs;
    });
    await pause(pauseMs, undefined, { signal }).catch(() => {});
  }
}

/** Returns the ms until the next poll. */
async function look({ deadlines, send }: Parts): Promise<number> {
  const passed = await deadlines.findPassed();
  if (passed !== null) {
    const { overdue, atMs } = passed;
    await send({ overdue, atMs });
    await deadlines.postpone(passed);
  }
  const nextMs = (await deadlines.next()) ?? longestPauseMs;
  return Math.min(longestPauseMs, Math.max(shortestPauseMs, nextMs));
}

/** Over Restate's own ingress. A call that comes twice changes nothing. */
export function createSendDeadlines(ingressUrl: string): Parts["send"] {
  return (passed) =>
    sendToRestate(`${ingressUrl}/${deadlineService.name}/passed`, passed, patience.caller);
}
