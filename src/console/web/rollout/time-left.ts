/** How long a rollout or its rollback still takes at its present throughput. */
import type { LiveRollout } from "#console/contract.ts";
import type { Counts } from "#console/counts.ts";

type Moving = Pick<LiveRollout, "status" | "per_second">;

/** In seconds; undefined while there is no throughput. Does not include waiting at gates between waves. */
export function secondsLeft(
  { status: { state }, per_second: perSecond }: Moving,
  { succeeded, deploying, waiting }: Counts,
): number | undefined {
  if (perSecond <= 0) return undefined;
  const left = state === "rolling_back" ? succeeded + deploying : deploying + waiting;
  return left / perSecond;
}
