/** When the waves of a plan start at the earliest, in words. Pure. */
import { when } from "#console/web/times.ts";
import type { RolloutPlan } from "#rollout/contract.ts";

type Start = Pick<RolloutPlan["waves"][number], "earliest_start">;

/** Sooner than that a start is not worth a word. */
const atOnceMs = 60_000;

/** Empty for a wave that neither a window nor a soak delays. */
export function startWords({ earliest_start: start }: Start, nowMs: number): string {
  if (start === null) return "not within a year";
  return Date.parse(start) < nowMs + atOnceMs ? "" : `not before ${when(start, nowMs)}`;
}
