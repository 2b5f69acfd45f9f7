/** Sentinels that leave the image, or turn unhealthy, while their wave soaks count as failed. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import type { SentinelReason } from "#rollout/contract.ts";
import { batchesOf } from "#rollout/rules/plan.ts";
import { applyStep } from "#rollout/rules/progress.ts";
import { withFailures } from "#rollout/rules/second-try.ts";
import { type RolloutHead, readBatch, readOutcome, writeOutcome } from "#rollout/state.ts";
import { stamp } from "./announce.ts";
import { tellOutcomes } from "./tell-history.ts";

/**
 * The head after a look at the sentinels; null: they could not be looked at. Only what two looks in a row
 * have found counts: a health check may fail once. A later write of the head must follow.
 */
export async function withStrays(
  ctx: ObjectContext,
  head: RolloutHead,
  strays: readonly SentinelReason[] | null,
): Promise<RolloutHead> {
  if (head.wait === undefined || strays === null) return head;
  const before = new Set(head.wait.suspects);
  const confirmed = strays.filter(({ id }) => before.has(id));
  const { suspects: _, ...wait } = head.wait;
  const suspects = strays.map(({ id }) => id);
  const next = { ...head, wait: { ...wait, ...(suspects.length > 0 && { suspects }) } };
  return confirmed.length === 0 ? next : failConfirmed(ctx, next, confirmed);
}

async function failConfirmed(
  ctx: ObjectContext,
  head: RolloutHead,
  confirmed: readonly SentinelReason[],
): Promise<RolloutHead> {
  const failures = new Map(confirmed.map(({ id, reason }) => [id, reason]));
  let failed = await stamp(ctx, { ...head, sequence: head.sequence + 1 });
  for (const { batch: n } of head.waves.slice(0, head.currentWave).flatMap(batchesOf)) {
    const batch = await readBatch(ctx, n);
    const before = await readOutcome(ctx, n);
    if (batch === null || before === null) continue;
    const { outcome: after, changes } = withFailures(batch, before, failures);
    if (changes.length === 0) continue;
    failed = applyStep(failed, { n, batch, before, after });
    writeOutcome(ctx, n, after);
    tellOutcomes(ctx, failed, changes);
  }
  return failed;
}
