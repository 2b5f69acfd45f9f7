/** Whom a rollback has no result of when it ends: it was not tried, or its deploy is still in flight. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { targetsOf } from "#rollout/rules/outcome.ts";
import { batchesOf } from "#rollout/rules/plan.ts";
import { inlineListLimit, type RolloutHead, readBatch, readOutcome } from "./state.ts";

const reason = "no result: the rollback ended without one";

/** The head whose `notReverted` names them too: they have the new image still, or may have it. */
export async function withUntold(
  ctx: Pick<ObjectContext, "get">,
  head: RolloutHead,
): Promise<RolloutHead> {
  const listed = new Map(head.notReverted.map((one) => [one.id, one]));
  for (const { batch: n } of head.waves.slice(0, head.currentWave).flatMap(batchesOf)) {
    if (listed.size >= inlineListLimit) break;
    const batch = await readBatch(ctx, n);
    const outcome = await readOutcome(ctx, n);
    if (batch === null || outcome === null) continue;
    // While it still waited, what was open was the rollout's own, and brought the new image.
    const open = outcome.open && head.drain !== undefined;
    const run = { kind: "rollback", image: head.image } as const;
    for (const { id } of targetsOf(batch, { ...outcome, open }, run)) {
      if (!listed.has(id)) listed.set(id, { id, reason });
    }
  }
  return { ...head, notReverted: [...listed.values()].slice(0, inlineListLimit) };
}
