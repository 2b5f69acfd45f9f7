/** Times of a heartbeat that were recorded while a clock was ahead. Pure; time is a parameter. */
import { isAhead } from "#kernel/time.ts";
import type { Heartbeat, HeartbeatState } from "#monitor/contract.ts";
import { longestEarlyMs } from "./occurrences.ts";

/** `fromMs`: replaces a time that is far ahead of `nowMs`. */
export type Clock = { nowMs: number; fromMs: number };

/**
 * Corrects times that were recorded while a clock was ahead: a ping in the future would otherwise suppress
 * all later ones, and the alert for missing ones, until then.
 */
export function setRight(
  { schedule }: Pick<Heartbeat, "schedule">,
  state: HeartbeatState,
  { nowMs, fromMs }: Clock,
): HeartbeatState {
  const { createdAtMs, lastPingAtMs, startedAtMs, settledMs, held } = state;
  const isWrong = (atMs: number | null | undefined) => atMs != null && isAhead(atMs, nowMs);
  const earlyMs = schedule === undefined ? 0 : longestEarlyMs(schedule);
  const isUnsettled = settledMs !== undefined && isWrong(settledMs - earlyMs);
  const times = [createdAtMs, lastPingAtMs, startedAtMs, held?.awayToMs];
  if (!isUnsettled && !times.some(isWrong)) return state;
  return {
    ...state,
    ...(isUnsettled && { settledMs: fromMs }),
    createdAtMs: isWrong(createdAtMs) ? fromMs : createdAtMs,
    lastPingAtMs: isWrong(lastPingAtMs) ? fromMs : lastPingAtMs,
    startedAtMs: isWrong(startedAtMs) ? null : startedAtMs,
    held: isWrong(held?.awayToMs) ? null : held,
  };
}
