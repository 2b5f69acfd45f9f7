/** The words of a wave: its percentage, and when it starts at the earliest. Pure. */
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

type Wave = { wave: number; percentage: number };

/** "25 %", or "25 %, part 1 of 3" where a cap per region has split the wave; a line breaks only after the comma. */
export function percentWords({ wave, percentage }: Wave, waves: readonly Wave[]): string {
  const parts = waves.filter((one) => one.percentage === percentage);
  if (parts.length < 2) return `${percentage}\u00a0%`;
  const place = parts.findIndex((one) => one.wave === wave) + 1;
  return `${percentage}\u00a0%, part\u00a0${place}\u00a0of\u00a0${parts.length}`;
}
