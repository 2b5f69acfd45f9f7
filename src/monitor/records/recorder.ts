import type { AlertTransition } from "#alerts/contract.ts";
import type { CheckResult, CheckSnapshot } from "#monitor/contract.ts";
import type { MissedRuns } from "#monitor/rules/grid.ts";

/** Keeps what was found. Every write may come twice. */
export type CheckRecorder = {
  results: (results: readonly CheckResult[]) => Promise<void>;
  missed: (missed: MissedRuns & { checkId: string }) => Promise<void>;
  transition: (transition: AlertTransition) => Promise<void>;
  snapshot: (snapshot: CheckSnapshot) => Promise<void>;
};
