/** The exclusive handlers that a batch calls: what it is to deploy, and what came of it. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { stamp } from "./announce.ts";
import { type OpenBatchRequest, type RecordRequest, rolloutHistory } from "./internal.ts";
import {
  applyResults,
  type Change,
  emptyOutcome,
  previousImageOf,
  type RunKind,
  type Target,
  targetsOf,
} from "./outcome.ts";
import { applyChanges } from "./progress.ts";
import {
  type Batch,
  type RolloutHead,
  readBatch,
  readHead,
  readOutcome,
  writeHead,
  writeOutcome,
} from "./state.ts";

/**
 * Opens a batch: answers who is to be deployed. null once the rollout is no longer at work, which
 * is what makes a Cancel hold from the moment in which it is written.
 */
export async function openBatch(
  ctx: ObjectContext,
  request: OpenBatchRequest,
): Promise<Target[] | null> {
  const head = await readHead(ctx);
  if (head === null || !isWanted(head, request)) return null;
  const batch = await readBatch(ctx, request.batch);
  if (batch === null) return [];
  const known = await readOutcome(ctx, request.batch);
  const outcome = known ?? emptyOutcome(batch);
  const targets = targetsOf(batch, outcome, { kind: request.kind, image: head.image });
  if (targets.length === 0) return [];
  const inFlight = Math.min(request.parallel, targets.length);
  const open = { invocation: request.invocation, inFlight };
  writeHead(ctx, { ...head, openBatches: { ...head.openBatches, [request.batch]: open } });
  writeOutcome(ctx, request.batch, { ...outcome, open: true });
  if (known === null) planHistory(ctx, head.rolloutId, batch);
  return targets;
}

function isWanted(head: RolloutHead, request: { rolloutId: string; kind: RunKind }): boolean {
  const working = request.kind === "rollout" ? "in_progress" : "rolling_back";
  return head.rolloutId === request.rolloutId && head.state === working;
}

function planHistory(ctx: ObjectContext, rolloutId: string, batch: Batch): void {
  const previousImages = batch.ids.map((_, i) => previousImageOf(batch, i));
  const entry = { wave: batch.wave + 1, ids: batch.ids, previousImages };
  ctx.sendClient(rolloutHistory, rolloutId).plan({ batches: [entry] });
}

/** Writes results down. Late ones, of a rollout that another has followed, go to history alone. */
export async function record(ctx: ObjectContext, request: RecordRequest): Promise<null> {
  const head = await readHead(ctx);
  const batch = await readBatch(ctx, request.batch);
  if (head?.rolloutId !== request.rolloutId || batch === null) {
    await recordHistory(ctx, request.rolloutId, { changes: lateChanges(request), isLate: true });
    return null;
  }
  const before = (await readOutcome(ctx, request.batch)) ?? emptyOutcome(batch);
  const { outcome, changes } = applyResults(batch, before, request);
  const openBatches = updateOpen(head, request);
  const isStillOpen = String(request.batch) in openBatches;
  writeOutcome(ctx, request.batch, { ...outcome, open: isStillOpen });
  writeHead(ctx, await stamp(ctx, { ...applyChanges(head, batch.wave, changes), openBatches }));
  await recordHistory(ctx, head.rolloutId, { changes, isLate: false });
  return null;
}

function updateOpen(head: RolloutHead, request: RecordRequest): RolloutHead["openBatches"] {
  const { [request.batch]: open, ...others } = head.openBatches;
  // A batch that was killed and started anew has another invocation: the entry is the new one's.
  if (open === undefined || open.invocation !== request.invocation) return head.openBatches;
  if (request.closed) return others;
  return { ...others, [request.batch]: { ...open, inFlight: request.inFlight } };
}

function lateChanges(request: RecordRequest): Change[] {
  const [good, bad] = request.kind === "rollout" ? ["s", "f"] : ["r", "n"];
  return request.results.map(({ id, ok, reason }) => ({
    id,
    from: ".",
    to: (ok ? good : bad) ?? "",
    ...(reason !== undefined && { reason }),
  }));
}

async function recordHistory(
  ctx: ObjectContext,
  rolloutId: string,
  entry: { changes: Change[]; isLate: boolean },
): Promise<void> {
  if (entry.changes.length === 0) return;
  const atMs = await ctx.date.now();
  ctx.sendClient(rolloutHistory, rolloutId).outcomes({ ...entry, atMs });
}
