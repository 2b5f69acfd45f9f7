/**
 * Looks for deadlines that have passed, as long as the worker runs. It remembers nothing: what is due
 * stands in Postgres, so that any worker can look, and none that is killed takes anything along.
 */
import { setTimeout as delay } from "node:timers/promises";
import { startBackground } from "#kernel/background.ts";
import type { Log } from "#kernel/log.ts";
import { patience, sendToRestate } from "#kernel/restate-send.ts";
import { type DeadlinesPassed, deadlineService } from "#monitor/internal.ts";
import type { PassedDeadlines } from "#monitor/rules/deadline.ts";
import type { Deadlines } from "./deadlines.ts";

type Parts = {
  deadlines: Pick<Deadlines, "correct" | "findPassed" | "told" | "next">;
  /** Resolves once the objects are sure to hear of it. */
  tell: (passed: DeadlinesPassed) => Promise<void>;
  log: Log;
  /** Rejects when it is aborted. */
  pause?: (ms: number, value: undefined, options: { signal: AbortSignal }) => Promise<void>;
};

/** Another worker may set a deadline that is nearer than any known here. */
const longestPauseMs = 1_000;
/** Deadlines that pass one after the other are found together. */
const shortestPauseMs = 50;
/** What a wrong clock has left is of no hurry. */
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
      // Deadlines are looked for whether it succeeds or not.
      await parts.deadlines.correct().catch((error) => {
        parts.log.warn({ detail: (error as Error).message }, "wrong times not corrected");
      });
    }
    return look(parts);
  };
  while (!signal.aborted) {
    const pauseMs = await turn().catch((error) => {
      parts.log.warn({ detail: (error as Error).message }, "deadlines not looked for");
      return longestPauseMs;
    });
    await pause(pauseMs, undefined, { signal }).catch(() => {});
  }
}

/** Answers how long nothing is due, in ms. */
async function look({ deadlines, tell }: Parts): Promise<number> {
  const passed = await deadlines.findPassed();
  if (passed !== null) {
    await tell(toMessage(passed));
    await deadlines.told(passed);
  }
  const nextMs = (await deadlines.next()) ?? longestPauseMs;
  return Math.min(longestPauseMs, Math.max(shortestPauseMs, nextMs));
}

function toMessage({ overdue, atMs }: PassedDeadlines): DeadlinesPassed {
  return { overdue, atMs, away: null };
}

/** Over Restate's own ingress. What comes twice changes nothing. */
export function createSendDeadlines(ingressUrl: string): Parts["tell"] {
  return (passed) =>
    sendToRestate(`${ingressUrl}/${deadlineService.name}/passed`, passed, patience.caller);
}
