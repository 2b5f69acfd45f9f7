/** How long the parts of a probe took. */
import type { Phases } from "#monitor/contract.ts";

/** Filled in as the probe goes on. */
export type PhaseTimes = {
  phases: Phases;
  tlsDaysLeft: number | null;
  /** On the clock of `performance.now()`. */
  connectedAtMs?: number;
};
