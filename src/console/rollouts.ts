import type { MemberHistory, Progress } from "#rollout/history/contract.ts";

/** The reads of rollouts that the console needs besides that of one moment. */
export type ReadRollouts = {
  progress: (rolloutId: string) => Promise<Progress>;
  /** What became of each of its sentinels, and when. */
  histories: (rolloutId: string) => Promise<MemberHistory[]>;
};
