/** Whether a wave may start at this time: the requested start, allowed windows and freezes. Pure. */
import type { Policy } from "#rollout/policy/contract.ts";
import { createCalendar, openingAt } from "#rollout/windows/calendar.ts";
import type { RolloutWindow } from "#rollout/windows/contract.ts";
import { type Condition, start, type Wait } from "./condition.ts";

/** A wave that has started runs to its end; the next one waits, and so does what is left of one that was paused. */
export const judgeWindow: Condition = ({ head, next, nowMs, windows }) => {
  if (next.kind !== "wave" || head.wait?.skipsWindows === true) return start;
  const startMs = head.currentWave > 0 ? nowMs : Math.max(nowMs, startOf(head.policy));
  if (windows === null) {
    if (nowMs < startMs) return waitFor("waits for its start", startMs);
    return { ...waitFor("waits, since the windows could not be read"), pollMs: unreadMs };
  }
  const { is_open: isOpen, reason, until } = openingAt(windows, startMs);
  if (isOpen && startMs === nowMs) return start;
  const untilMs = isOpen ? startMs : until && Date.parse(until);
  const why = nowMs < startMs ? "waits for its start" : `waits, since ${reason}`;
  return waitFor(why, untilMs || undefined);
};

function waitFor(reason: string, untilMs?: number): Wait {
  const until = untilMs === undefined ? {} : { untilMs };
  return { action: "wait", waitingFor: "window", reason, ...until };
}

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
