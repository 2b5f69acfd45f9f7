import type { RolloutStatus } from "#rollout/contract.ts";
import type { Progress, RolloutDetail } from "#rollout/history/contract.ts";

/** What the console reads of rollouts. */
export type ReadRollouts = {
  /** `status` is what the rollout itself says, which is ahead of history. */
  detail: (status: RolloutStatus) => Promise<RolloutDetail>;
  /** undefined: there is none with this id. */
  status: (rolloutId: string) => Promise<RolloutStatus | undefined>;
  progress: (rolloutId: string) => Promise<Progress>;
};
