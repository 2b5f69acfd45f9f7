import type { RolloutMark } from "#alerts/contract.ts";
import type { Definitions } from "#monitor/contract.ts";
import type { RunCheck } from "#monitor/probe/run-check.ts";
import type { CheckRecorder } from "#monitor/records/recorder.ts";

/** What API checks need of others. */
export type CheckParts = {
  definitions: Pick<Definitions, "apiChecks">;
  recorder: CheckRecorder;
  /** The rollout that is under way; null: none. */
  readRollout: () => Promise<RolloutMark | null>;
  /** Of a run's locations, as in the settings. */
  failedAtPercent: number;
  /** Where this program's own runs take place. */
  location: string;
  runCheck: RunCheck;
  /** The API checks that have what they need; the others are paused. */
  activeChecks: ReadonlySet<string>;
  /** The further places whose reports are waited for. */
  runners: { expected: () => Promise<readonly string[]> };
};
