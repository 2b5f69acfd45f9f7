import type { ObjectContext } from "@restatedev/restate-sdk";
import type { OutcomeChange } from "#rollout/rules/outcome.ts";
import type { BatchStep } from "#rollout/rules/progress.ts";
import {
  type Batch,
  type Outcome,
  type RolloutHead,
  readBatch,
  readOutcome,
  type SizedBatch,
  writeHead,
  writeOutcome,
} from "#rollout/state.ts";
import { sendOutcomes, stamp } from "./announce.ts";

type Change = {
  batches: readonly SizedBatch[];
  /** The batch's outcome afterwards; null: it stays as it is. */
  decide: (batch: Batch, before: Outcome) => { outcome: Outcome; changes: OutcomeChange[] } | null;
  /** The head after the outcome of one batch has changed. */
  apply: (head: RolloutHead, step: BatchStep) => RolloutHead;
};

/** The head after the change. A later write of the head must follow. */
export async function changeOutcomes(
  ctx: ObjectContext,
  head: RolloutHead,
  { batches, decide, apply }: Change,
): Promise<RolloutHead> {
  let changed = await stamp(ctx, { ...head, sequence: head.sequence + 1 });
  for (const { batch: n } of batches) {
    const batch = await readBatch(ctx, n);
    const before = await readOutcome(ctx, n);
    const decided = batch === null || before === null ? null : decide(batch, before);
    if (batch === null || before === null || decided === null) continue;
    changed = apply(changed, { n, batch, after: decided.outcome });
    writeOutcome(ctx, n, decided.outcome);
    // Before history is told: a kill in between must not leave it ahead of the head.
    writeHead(ctx, changed);
    sendOutcomes(ctx, changed, { changes: decided.changes });
  }
  return changed;
}
