import type { RolloutMark } from "#alerts/contract.ts";
import type { ReadActor } from "#kernel/actor.ts";
import type { ReadDefinitions } from "#monitor/contract.ts";
import type { RunCheck } from "#monitor/probe/run-check.ts";
import type { WhyOff } from "#monitor/probe/secrets.ts";
import type { CheckRecorder } from "#monitor/records.ts";

/** The parts of other slices that the object of API checks uses. */
export type CheckParts = {
  readDefinitions: ReadDefinitions;
  recorder: CheckRecorder;
  /** Returns the caller of an operator's change. */
  readActor: ReadActor;
  /** The rollout in progress; null: none. */
  readRollout: () => Promise<RolloutMark | null>;
  /** The percentage of a run's locations that must fail, from the settings; 0: any. */
  failedAtPercent: number;
  /** The location of this program's own runs. */
  location: string;
  runCheck: RunCheck;
  /** A check that lacks settings is paused. */
  whyOff: WhyOff;
  /** The further locations whose reports a run waits for. */
  runners: { expected: () => Promise<readonly string[]> };
};
