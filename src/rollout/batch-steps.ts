/** The exclusive handlers around a batch: it is launched, it records, it is closed. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { sentinelService } from "#fleet/contract.ts";
import { stamp } from "./announce.ts";
import {
  type Launched,
  type LaunchRequest,
  type RecordRequest,
  rolloutBatch,
  rolloutHistory,
} from "./internal.ts";
import {
  applyResults,
  type Change,
  emptyOutcome,
  previousImageOf,
  type RunKind,
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
 * Launches a batch over those of its members that are to be deployed. Refused once the rollout is
 * no longer at work, which is what makes a Cancel hold from the moment in which it is written. The
 * batch is sent from here, because Restate kills what a killed invocation has sent: a run that is
 * killed must not take deploys in flight with it.
 */
export async function launchBatch(ctx: ObjectContext, request: LaunchRequest): Promise<Launched> {
  const head = await readHead(ctx);
  const batch = await readBatch(ctx, request.batch);
  if (head === null || batch === null || !isWanted(head, request)) return "stopped";
  const known = await readOutcome(ctx, request.batch);
  const outcome = known ?? emptyOutcome(batch);
  const targets = targetsOf(batch, outcome, { kind: request.kind, image: head.image });
  if (targets.length === 0) return "idle";
  const batchRun = { ...request, targets, run: head.runner };
  const invocation = await ctx.sendClient(rolloutBatch).run(batchRun).invocationId;
  const inFlight = Math.min(request.parallel, targets.length);
  const openBatches = { ...head.openBatches, [request.batch]: { invocation, inFlight } };
  writeHead(ctx, { ...head, openBatches });
  writeOutcome(ctx, request.batch, { ...outcome, open: true });
  if (known === null) planHistory(ctx, head.rolloutId, batch);
  return { invocation };
}

/**
 * Closes batches that ended without closing themselves, because they were killed. Their members
 * without a result are told that their deploys are over. What they run then is not known: a
 * rollback still takes them.
 */
export async function closeLostBatches(
  ctx: ObjectContext,
  head: RolloutHead,
  lost: readonly string[],
): Promise<RolloutHead> {
  for (const n of lost) {
    const batch = await readBatch(ctx, Number(n));
    const outcome = await readOutcome(ctx, Number(n));
    if (batch === null || outcome === null) continue;
    for (const { id } of targetsOf(batch, outcome, { kind: "rollout", image: head.image })) {
      const abandoned = { image: head.image, reason: "cancelled: the deploy's batch was killed" };
      ctx.sendClient(sentinelService, id).Abandon(abandoned);
    }
  }
  const gone = new Set(lost);
  const left = Object.entries(head.openBatches).filter(([n]) => !gone.has(n));
  return { ...head, openBatches: Object.fromEntries(left) };
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
