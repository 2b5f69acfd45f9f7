/** Sentinels that leave the image, or turn unhealthy, while their wave soaks count as failed. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { toIso } from "#kernel/time.ts";
import { batchesOf } from "#rollout/rules/plan.ts";
import { applyStep } from "#rollout/rules/progress.ts";
import { type Stray, withFailures } from "#rollout/rules/second-try.ts";
import type { Batch, Outcome, RolloutHead } from "#rollout/state.ts";
import { changeOutcomes } from "./change-outcomes.ts";

/**
 * The head after a look at the sentinels at `atMs`. Only what two looks in a row have found counts: a health check
 * may fail once. A later write of the head must follow.
 */
export async function withStrays(
  ctx: ObjectContext,
  head: RolloutHead,
  { strays, atMs }: { strays: readonly Stray[]; atMs: number },
): Promise<RolloutHead> {
  if (head.wait === undefined) return head;
  const before = new Set(head.wait.suspects);
  const confirmed = strays.filter(({ id }) => before.has(id));
  const { suspects: _, ...wait } = head.wait;
  const suspects = strays.map(({ id }) => id);
  const lookedAt = toIso(atMs);
  const looked = { ...wait, lookedAt, ...(suspects.length > 0 && { suspects }) };
  const next = { ...head, wait: looked };
  return confirmed.length === 0 ? next : failConfirmed(ctx, next, confirmed);
}

function failConfirmed(
  ctx: ObjectContext,
  head: RolloutHead,
  confirmed: readonly Stray[],
): Promise<RolloutHead> {
  const batches = head.waves.slice(0, head.currentWave).flatMap(batchesOf);
  const decide = (batch: Batch, before: Outcome) => {
    const decided = withFailures(batch, before, confirmed);
    return decided.changes.length === 0 ? null : decided;
  };
  return changeOutcomes(ctx, head, { batches, decide, apply: applyStep });
}
