/** Takes failures back, so that their sentinels are deployed again. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { batchesOf } from "#rollout/rules/plan.ts";
import { applyRetry } from "#rollout/rules/progress.ts";
import { withoutFailures } from "#rollout/rules/second-try.ts";
import {
  type RolloutHead,
  readBatch,
  readOutcome,
  writeHead,
  writeOutcome,
} from "#rollout/state.ts";
import { stamp } from "./announce.ts";
import { tellOutcomes } from "./tell-history.ts";

/** The head with the failures of the current wave taken back. A later write of the head must follow. */
export async function withRetry(ctx: ObjectContext, head: RolloutHead): Promise<RolloutHead> {
  const wave = head.waves[head.currentWave - 1];
  let retried = await stamp(ctx, { ...head, sequence: head.sequence + 1 });
  for (const { batch: n } of wave === undefined || wave.failed === 0 ? [] : batchesOf(wave)) {
    const batch = await readBatch(ctx, n);
    const before = await readOutcome(ctx, n);
    if (batch === null || before === null) continue;
    const { outcome: after, changes } = withoutFailures(batch, before);
    // Counted also when nothing changes: an earlier try may have been killed before it wrote the head.
    retried = applyRetry(retried, { n, batch, before, after });
    writeOutcome(ctx, n, after);
    // Before history is told: a kill in between must not leave it ahead of the head.
    writeHead(ctx, retried);
    tellOutcomes(ctx, retried, changes);
  }
  return retried;
}
