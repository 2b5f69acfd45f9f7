/** The unhealthy sentinels of the fleet, for `max_unavailable`. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { isFilledBy } from "#rollout/conditions/availability.ts";
import type { Facts } from "#rollout/conditions/condition.ts";
import type { Next } from "#rollout/conditions/next.ts";
import type { Unhealthy } from "#rollout/internal.ts";
import { emptyOutcome, targetsOf } from "#rollout/rules/outcome.ts";
import { batchesOf } from "#rollout/rules/plan.ts";
import { type RolloutHead, readBatch, readOutcome } from "#rollout/state.ts";

/** null: nobody asked, or the fleet could not be listed. "stale": it was read too long ago. */
export type SeenFleet = Unhealthy | null | "stale";

/** How many are unhealthy, and how many of them come next: that is read only when it decides something. */
export async function countTargets(
  ctx: ObjectContext,
  head: RolloutHead,
  { next, seen }: { next: Next; seen: SeenFleet },
): Promise<Facts["fleet"]> {
  if (seen === "stale" || seen === null) return seen;
  const unhealthy = seen.ids.length + seen.more;
  if (next.kind !== "wave" || !isFilledBy(head, unhealthy)) return { unhealthy, ofNext: 0 };
  const ids = new Set(seen.ids);
  const targets = await firstTargets(ctx, head, next.index);
  return { unhealthy, ofNext: targets.filter((id) => ids.has(id)).length };
}

/** What the first batch of the wave with members left would deploy: batches run one by one. */
async function firstTargets(
  ctx: ObjectContext,
  head: RolloutHead,
  index: number,
): Promise<string[]> {
  const wave = head.waves[index];
  for (const { batch: n } of wave === undefined ? [] : batchesOf(wave)) {
    const batch = await readBatch(ctx, n);
    if (batch === null) continue;
    const outcome = (await readOutcome(ctx, n)) ?? emptyOutcome(batch);
    const targets = targetsOf(batch, outcome, { kind: "rollout", image: head.image });
    if (targets.length > 0) return targets.map(({ id }) => id);
  }
  return [];
}

/** The head that counts from here on which sentinels are unavailable. */
export function withUnhealthy(
  { unavailable: _, ...head }: RolloutHead,
  seen: SeenFleet,
): RolloutHead {
  const counts = head.policy.max_unavailable !== undefined && seen !== null && seen !== "stale";
  return counts ? { ...head, unavailable: seen } : head;
}
