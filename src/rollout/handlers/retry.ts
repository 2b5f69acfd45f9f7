/** Takes failures back, so that their sentinels are deployed again. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { batchesOf } from "#rollout/rules/plan.ts";
import { applyRetry } from "#rollout/rules/progress.ts";
import { withoutFailures } from "#rollout/rules/second-try.ts";
import type { RolloutHead } from "#rollout/state.ts";
import { changeOutcomes } from "./change-outcomes.ts";

/** The head with the failures of the current wave taken back. A later write of the head must follow. */
export async function withRetry(ctx: ObjectContext, head: RolloutHead): Promise<RolloutHead> {
  const wave = head.waves[head.currentWave - 1];
  const batches = wave === undefined || wave.failed === 0 ? [] : batchesOf(wave);
  // Counted also when nothing changes: an earlier try may have been killed before it wrote the head.
  return changeOutcomes(ctx, head, { batches, decide: withoutFailures, apply: applyRetry });
}
