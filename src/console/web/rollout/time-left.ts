/** How long a rollout or its rollback still takes at its present throughput. */
import type { LiveRollout } from "#console/contract.ts";

/** In seconds; undefined while there is no throughput. Does not include waiting at gates between waves. */
export function secondsLeft({
  status,
  waves,
  per_second,
  reverted,
}: LiveRollout): number | undefined {
  if (per_second <= 0) return undefined;
  const isRollback = status.state === "rolling_back";
  const put = waves.reduce((sum, wave) => sum + wave.not_reverted, 0);
  const left = isRollback
    ? Math.max(0, status.succeeded - reverted - put)
    : status.total - status.succeeded - status.failed;
  return left / per_second;
}
