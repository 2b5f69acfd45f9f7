/** The duration of the phases of a probe. */
import type { Phases } from "#monitor/contract.ts";

/** Filled in while the probe runs. */
export type PhaseTimes = {
  phases: Phases;
  tlsDaysLeft: number | null;
  tlsIssuer?: string | null;
  /** On the clock of `performance.now()`. */
  connectedAtMs?: number;
};
