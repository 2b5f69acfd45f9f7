/** Evaluates the times at which a wave may start: the requested start, allowed windows and freezes. Pure. */
import type { Policy } from "#rollout/policy-contract.ts";
import type { RolloutHead } from "#rollout/state.ts";
import { createCalendar } from "#rollout/windows/calendar.ts";
import type { Opening, RolloutWindow } from "#rollout/windows/contract.ts";
import { type Condition, look, start, type Wait } from "./condition.ts";

/** A wave that has started runs to its end; the next one waits, and so does what is left of one that was paused. */
export const evaluateWindow: Condition = ({ head, next, nowMs, windows }) => {
  if (next.kind !== "wave" || head.wait?.skipsWindows === true) return start;
  if (windows === "stale") return look;
  const startMs = startOf(head);
  if (nowMs < startMs) {
    const { atStart } = windows === "unread" ? {} : windows;
    const untilMs = atStart === undefined ? startMs : openMs(atStart, startMs);
    return { ...waitFor("waits for its start", untilMs), isForStart: true };
  }
  // To list the fleet takes the database, too: the rollout pauses then and says so.
  if (windows === "unread") return head.captured ? unread(head, nowMs) : start;
  if (windows.now.is_open) return start;
  return waitFor(`waits, since ${windows.now.reason}`, openMs(windows.now, nowMs));
};

function waitFor(reason: string, untilMs?: number): Wait {
  const until = untilMs === undefined ? {} : { untilMs };
  return { action: "wait", waitingFor: "window", reason, ...until };
}

function openMs({ is_open: isOpen, until }: Opening, atMs: number): number | undefined {
  if (isOpen) return atMs;
  return until === undefined ? undefined : Date.parse(until);
}

/** Soon at first, then once a minute. */
function unread({ wait }: RolloutHead, nowMs: number): Wait {
  const waitedMs = wait === undefined ? 0 : nowMs - Date.parse(wait.since);
  const retryMs = Math.min(60_000, Math.max(2_000, waitedMs / 10));
  return { ...waitFor("waits, since the windows could not be read"), retryMs };
}

/** Returns the earliest start of each wave, if deploys took no time; undefined: not within a year. */
export function earliestStarts(
  windows: readonly RolloutWindow[],
  { policy, soaksMs, nowMs }: { policy: Policy; soaksMs: readonly number[]; nowMs: number },
): (number | undefined)[] {
  const firstMs = Math.max(nowMs, requestedStart(policy));
  const { nextOpening } = createCalendar(windows, firstMs);
  let atMs: number | undefined = firstMs;
  return soaksMs.map((soakMs) => {
    const startMs: number | undefined = atMs === undefined ? undefined : nextOpening(atMs);
    atMs = startMs === undefined ? undefined : startMs + soakMs;
    return startMs;
  });
}

/** It is about the first wave alone, and over once an operator has ended the wait for it. */
function startOf({ policy, currentWave, startsEarly }: RolloutHead): number {
  const isOver = currentWave > 0 || startsEarly === true;
  return isOver ? Number.NEGATIVE_INFINITY : requestedStart(policy);
}

function requestedStart({ not_before: start }: Policy): number {
  return start === undefined ? Number.NEGATIVE_INFINITY : Date.parse(start);
}
