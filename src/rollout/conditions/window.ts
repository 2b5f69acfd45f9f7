/** Whether a wave may start at this time: the requested start, allowed windows and freezes. Pure. */
import type { Policy } from "#rollout/policy/contract.ts";
import { createCalendar, openingAt } from "#rollout/windows/calendar.ts";
import type { RolloutWindow } from "#rollout/windows/contract.ts";
import { type Condition, start } from "./condition.ts";

/** A wave that has started runs to its end; the next one waits, and so does what is left of one that was paused. */
export const judgeWindow: Condition = ({ head, next, nowMs, windows }) => {
  if (next.kind !== "wave" || head.wait?.skipsWindows === true) return start;
  const startMs = startOf(head.policy);
  if (nowMs < startMs) {
    return {
      action: "wait",
      waitingFor: "window",
      reason: "waits for its start",
      untilMs: startMs,
    };
  }
  if (windows === null) {
    const reason = "waits, since the windows could not be read";
    return { action: "wait", waitingFor: "window", reason, pollMs: unreadMs };
  }
  const { is_open: isOpen, reason, until } = openingAt(windows, nowMs);
  if (isOpen) return start;
  const untilMs = until === undefined ? {} : { untilMs: Date.parse(until) };
  return { action: "wait", waitingFor: "window", reason: `waits, since ${reason}`, ...untilMs };
};

const unreadMs = 30_000;

/** When each wave may start at the earliest, if deploys took no time; undefined: not within a year. */
export function earliestStarts(
  windows: readonly RolloutWindow[],
  { policy, soaksMs, nowMs }: { policy: Policy; soaksMs: readonly number[]; nowMs: number },
): (number | undefined)[] {
  const firstMs = Math.max(nowMs, startOf(policy));
  const { nextOpening } = createCalendar(windows, firstMs);
  let atMs: number | undefined = firstMs;
  return soaksMs.map((soakMs) => {
    const startMs: number | undefined = atMs === undefined ? undefined : nextOpening(atMs);
    atMs = startMs === undefined ? undefined : startMs + soakMs;
    return startMs;
  });
}

function startOf({ not_before: start }: Policy = {}): number {
  return start === undefined ? Number.NEGATIVE_INFINITY : Date.parse(start);
}
