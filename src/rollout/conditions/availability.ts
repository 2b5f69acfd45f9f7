/** Limits the sentinels that are unavailable at one time: unhealthy, failed in the wave, or in flight. Pure. */
import type { RolloutHead, Unavailable } from "#rollout/state.ts";
import { limitOf } from "#rollout/values-contract.ts";
import { allowedWords, ofFleet } from "./budget.ts";
import { type Condition, look, type Stop, start } from "./condition.ts";

/** Returns the limit, at least 1, or nothing could be deployed; undefined: there is none. */
export function allowedUnavailable({
  policy,
  fleetSize,
  total,
}: Pick<RolloutHead, "policy" | "fleetSize" | "total">): number | undefined {
  const limit = policy.max_unavailable;
  return limit === undefined ? undefined : Math.max(1, limitOf(limit, fleetSize ?? total));
}

/** Returns how many more may become unavailable; undefined: there is no limit. Negative: the limit is exceeded. */
export function freeSlots(head: RolloutHead): number | undefined {
  const allowed = allowedUnavailable(head);
  const { ids = [], more = 0 } = head.unavailable ?? {};
  return allowed === undefined ? undefined : allowed - ids.length - more;
}

/** True if unhealthy sentinels alone take every place. */
export function isFilledBy(head: RolloutHead, unhealthy: number): boolean {
  return unhealthy >= (allowedUnavailable(head) ?? Number.POSITIVE_INFINITY);
}

/** Returns the unavailable sentinels once these deploys have ended. */
export function withEndedDeploys(
  { ids, ...rest }: Unavailable,
  results: readonly { id: string; ok: boolean; leftOut?: true }[],
): Unavailable {
  const changed = new Set(ids);
  for (const { id, ok, leftOut } of results) {
    if (ok) changed.delete(id);
    else if (leftOut !== true) changed.add(id);
  }
  return { ...rest, ids: [...changed] };
}

export const evaluateAvailability: Condition = ({ head, next, fleet }) => {
  const allowed = allowedUnavailable(head);
  if (allowed === undefined || !head.captured || next.kind === "end") return start;
  if (next.kind === "deploy")
    return head.unavailable?.isFull === true ? full(head, allowed) : start;
  if (fleet === "stale") return look;
  if (fleet === null)
    return notOfImage("the fleet could not be listed, and max_unavailable counts it");
  const { unhealthy, ofNext } = fleet;
  // To deploy those that are unavailable already may help them.
  if (!isFilledBy(head, unhealthy) || ofNext > 0) return start;
  return notOfImage(`${unhealthy} unhealthy, ${allowedWords(allowed)} (max_unavailable)`);
};

function notOfImage(reason: string): Stop {
  return { action: "stop", cause: "fleet", reason, isOfImage: false };
}

function full(head: RolloutHead, allowed: number): Stop {
  const { ids = [], more = 0 } = head.unavailable ?? {};
  const reason = `${ids.length + more} unhealthy or failed, ${allowedWords(allowed)} (max_unavailable)`;
  const wave = head.waves[head.currentWave - 1];
  if (wave === undefined || wave.failed === wave.passedOver) return notOfImage(reason);
  return ofFleet([wave]) ?? { action: "stop", cause: "budget", reason, isOfImage: true };
}
