/** The soak: a wave is watched for some time before anything starts after it. */

import { toIso } from "#kernel/time.ts";
import type { Policy } from "#rollout/policy/contract.ts";
import type { RolloutHead, WaveProgress } from "#rollout/state.ts";
import { type Condition, start } from "./condition.ts";

export const judgeSoak: Condition = ({ head, next, nowMs }) => {
  const { soakUntil, suspects = [] } = head.wait ?? {};
  if (next.kind === "deploy" || soakUntil === undefined) return start;
  // What the last look has found for the first time takes another look.
  const untilMs = Date.parse(soakUntil) + (suspects.length > 0 ? shortestPollMs : 0);
  if (nowMs >= untilMs) return start;
  const reason = `soaks until ${toIso(untilMs)}; Skip ends it`;
  return { action: "wait", waitingFor: "soak", reason, untilMs };
};

const shortestPollMs = 5_000;

/** After so many looks a suspect is no longer looked at sooner than the others. */
const earlyLooks = 300;

/** Some 300 looks, or twice as many with suspects: the run's journal stays small. */
export function soakPollMs({ wait }: Pick<RolloutHead, "wait">): number {
  const { since, soakUntil = "", suspects = [], round = 0 } = wait ?? { since: "" };
  const wholeMs = Date.parse(soakUntil) - Date.parse(since);
  const isEarly = suspects.length > 0 && round < earlyLooks;
  return isEarly ? shortestPollMs : Math.max(shortestPollMs, Math.ceil(wholeMs / 300) || 0);
}

/** Seconds for which this wave soaks. One number per requested percentage, or one for all. */
export function soakSecondsOf(
  { soak_seconds: soak = 0 }: Policy,
  wave: Pick<WaveProgress, "percentage">,
  wavePercentages: readonly number[],
): number {
  if (typeof soak === "number") return soak;
  return soak[wavePercentages.indexOf(wave.percentage)] ?? 0;
}
