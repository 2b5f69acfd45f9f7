/** Sentinels that leave the image, or turn unhealthy, while their wave soaks count as failed. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { toIso } from "#kernel/time.ts";
import { batchesOf } from "#rollout/rules/plan.ts";
import { applyStep } from "#rollout/rules/progress.ts";
import { type Stray, withFailures } from "#rollout/rules/second-try.ts";
import {
  type RolloutHead,
  readBatch,
  readOutcome,
  writeHead,
  writeOutcome,
} from "#rollout/state.ts";
import { stamp } from "./announce.ts";
import { tellOutcomes } from "./tell-history.ts";

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
  const looked = { ...wait, lookedAt: toIso(atMs), ...(suspects.length > 0 && { suspects }) };
  const next = { ...head, wait: looked };
  return confirmed.length === 0 ? next : failConfirmed(ctx, next, confirmed);
}

async function failConfirmed(
  ctx: ObjectContext,
  head: RolloutHead,
  confirmed: readonly Stray[],
): Promise<RolloutHead> {
  let failed = await stamp(ctx, { ...head, sequence: head.sequence + 1 });
  for (const { batch: n } of head.waves.slice(0, head.currentWave).flatMap(batchesOf)) {
    const batch = await readBatch(ctx, n);
    const before = await readOutcome(ctx, n);
    if (batch === null || before === null) continue;
    const { outcome: after, changes } = withFailures(batch, before, confirmed);
    if (changes.length === 0) continue;
    failed = applyStep(failed, { n, batch, before, after });
    writeOutcome(ctx, n, after);
    // Before history is told: a kill in between must not leave it ahead of the head.
    writeHead(ctx, failed);
    tellOutcomes(ctx, failed, changes);
  }
  return failed;
}
