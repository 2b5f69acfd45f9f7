import type { AlertTransition } from "#alerts/contract.ts";
import type { CheckResult, CheckSnapshot } from "#monitor/contract.ts";
import type { SuppressionSpan } from "#monitor/dependencies/contract.ts";
import type { MissedRuns } from "#monitor/rules/grid.ts";

/** Stores results and states of checks. Every write must be idempotent. */
export type CheckRecorder = {
  results: (results: readonly CheckResult[]) => Promise<void>;
  missed: (missed: MissedRuns & { checkId: string }) => Promise<void>;
  transition: (transition: AlertTransition) => Promise<void>;
  /** Each that began or ended, in any order. */
  suppressions: (checkId: string, spans: readonly SuppressionSpan[]) => Promise<void>;
  snapshot: (snapshot: CheckSnapshot) => Promise<void>;
};
