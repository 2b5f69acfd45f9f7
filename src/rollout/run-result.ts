/** Converts the result of a rollout's run from the status and back. */
import type { RolloutStatus } from "./contract.ts";
import type { RunResult } from "./internal.ts";

export function toResult(status: RolloutStatus): RunResult {
  return { ...status, reverted: 0, not_reverted: [] };
}

export function statusOf(result: RunResult): RolloutStatus {
  const { reverted: _r, not_reverted: _n, followedBy: _f, ...status } = result;
  return status;
}
