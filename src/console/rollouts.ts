import type { RolloutStatus } from "#rollout/contract.ts";
import type { Progress, RolloutDetail } from "#rollout/history/contract.ts";

/** The reads of rollouts that the console needs. */
export type ReadRollouts = {
  /** `status` is that of the rollout itself, which is newer than history. */
  detail: (status: RolloutStatus) => Promise<RolloutDetail>;
  /** undefined: there is no rollout with this id. */
  status: (rolloutId: string) => Promise<RolloutStatus | undefined>;
  progress: (rolloutId: string) => Promise<Progress>;
};
