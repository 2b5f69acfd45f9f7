/** Finds sentinels without a result at the end of a rollback: not tried, or their deploy is in flight. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { targetsOf } from "#rollout/rules/outcome.ts";
import { batchesOf } from "#rollout/rules/plan.ts";
import { inlineListLimit, type RolloutHead, readBatch, readOutcome } from "./state.ts";

const reason = "no result: the rollback ended without one";

/** Adds them to the head's `notReverted`, because they have, or may have, the new image. */
export async function withUnresolved(
  ctx: Pick<ObjectContext, "get">,
  head: RolloutHead,
): Promise<RolloutHead> {
  const listed = new Map(head.notReverted.map((one) => [one.id, one]));
  for (const { batch: n } of head.waves.slice(0, head.currentWave).flatMap(batchesOf)) {
    if (listed.size >= inlineListLimit) break;
    const batch = await readBatch(ctx, n);
    const outcome = await readOutcome(ctx, n);
    if (batch === null || outcome === null) continue;
    // While the rollback still waits, open batches are the rollout's own, which deploy the new image.
    const open = outcome.open && head.drain !== undefined;
    const { image, includeFailed } = head;
    const run = { kind: "rollback", image, includeFailed } as const;
    for (const { id } of targetsOf(batch, { ...outcome, open }, run)) {
      if (!listed.has(id)) listed.set(id, { id, reason });
    }
  }
  return { ...head, notReverted: [...listed.values()].slice(0, inlineListLimit) };
}
