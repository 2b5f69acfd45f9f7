/** A batch as history keeps it. Pure. */
import { previousImageOf } from "#rollout/rules/outcome.ts";
import type { Batch } from "#rollout/state.ts";
import type { PlannedBatch } from "./interface.ts";

export function toPlanned(batch: Batch): PlannedBatch {
  const previousImages = batch.ids.map((_, i) => previousImageOf(batch, i));
  return { wave: batch.wave + 1, ids: batch.ids, previousImages };
}
