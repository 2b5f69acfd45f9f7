/** The exclusive handler that records the results of a batch, and stops the rollout when they are too bad. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { toIso } from "#kernel/time.ts";
import { together } from "#kernel/together.ts";
import { withEndedDeploys } from "#rollout/conditions/availability.ts";
import type { RecordRequest, ServingRecord } from "#rollout/internal.ts";
import {
  applyResults,
  emptyOutcome,
  markOf,
  marksOf,
  type OutcomeChange,
} from "#rollout/rules/outcome.ts";
import { applyStep, servedBy, withServing } from "#rollout/rules/progress.ts";
import { type RolloutHead, readBatch, readHead, readOutcome, writeHead } from "#rollout/state.ts";
import { stamp } from "./announce.ts";
import { evaluateDeploy } from "./batches.ts";
import type { OrderStop } from "./order-stop.ts";
import { sendLateOutcomes, sendMembers, sendOutcomes } from "./send-history.ts";
import { stopFor } from "./stop.ts";
import { clearLate, currentRollout, readSaved } from "./superseded.ts";

/** Records results, also those of a superseded rollout. */
export async function record(
  ctx: ObjectContext,
  request: RecordRequest,
  orders: OrderStop,
): Promise<null> {
  const { rollout, batch, outcome: known, nowMs } = await read(ctx, request);
  if (rollout === null || batch === null) {
    await sendLateOutcomes(ctx, request.rolloutId, changesOf(request));
    return null;
  }
  const { head } = rollout;
  const before = known ?? emptyOutcome(batch);
  const run = { ...request, includeFailed: request.includeFailed ?? head.includeFailed };
  const { outcome, changes } = applyResults(batch, before, run);
  const openBatches = updateOpen(head, request);
  const after = { ...outcome, open: String(request.batch) in openBatches };
  rollout.writeOutcome(request.batch, after);
  const step = { n: request.batch, batch, after };
  const sequence = head.sequence + 1;
  const next = {
    ...applyStep(withServing(head, servedBy(batch, request.results)), step),
    openBatches,
    sequence,
    ...unavailableAfter(head, request),
  };
  const stamped = { ...next, updatedAt: toIso(nowMs) };
  rollout.write(stamped);
  if (!rollout.isCurrent && !after.open) clearLate(ctx, head.rolloutId, request.batch);
  if (request.closed) sendMembers(ctx, head.rolloutId, batch);
  // The close of a batch writes all its results: history may miss some, if a write was killed.
  sendOutcomes(ctx, stamped, request.closed ? marksOf(batch, after) : changes);
  if (rollout.isCurrent) await stopIfOver(ctx, stamped, orders);
  return null;
}

/** Records what failed sentinels serve, by the fleet's list after a pause. */
export async function noteServing(
  ctx: ObjectContext,
  { rolloutId, serving }: ServingRecord,
): Promise<null> {
  const head = await readHead(ctx);
  if (head?.rolloutId !== rolloutId || head.state !== "paused") return null;
  writeHead(ctx, await stamp(ctx, withServing(head, serving)));
  return null;
}

/** Everything at once: each round trip to Restate alone would be time in which Cancel waits for the key. */
async function read(ctx: ObjectContext, { rolloutId, batch: n }: RecordRequest) {
  const [current, batch, outcome, nowMs] = await together([
    readHead(ctx),
    readBatch(ctx, n),
    readOutcome(ctx, n),
    ctx.date.now(),
  ]);
  if (current?.rolloutId === rolloutId) {
    return { rollout: currentRollout(ctx, current), batch, outcome, nowMs };
  }
  const rollout = await readSaved(ctx, rolloutId);
  const late = { batch: await rollout?.batch(n), outcome: await rollout?.outcome(n) };
  return { rollout, batch: late.batch ?? null, outcome: late.outcome ?? null, nowMs };
}

function unavailableAfter(
  { unavailable }: RolloutHead,
  { kind, results, isBlocked }: RecordRequest,
): Pick<RolloutHead, "unavailable"> {
  if (unavailable === undefined || kind !== "rollout") return {};
  const after = withEndedDeploys(unavailable, results);
  return { unavailable: { ...after, ...(isBlocked === true && { isFull: true }) } };
}

/** Stops a rollout that this result has brought over its limits. */
async function stopIfOver(ctx: ObjectContext, head: RolloutHead, orders: OrderStop): Promise<void> {
  if (head.state !== "in_progress") return;
  const verdict = evaluateDeploy(head);
  if (verdict.action === "stop") await stopFor(ctx, head, { verdict, orders });
}

function updateOpen(head: RolloutHead, request: RecordRequest): RolloutHead["openBatches"] {
  const { [request.batch]: open, ...others } = head.openBatches;
  // A batch that was restarted after a kill has another invocation, to which the entry belongs.
  if (open === undefined || open.invocation !== request.invocation) return head.openBatches;
  if (request.closed) return others;
  return { ...others, [request.batch]: { ...open, inFlight: request.inFlight } };
}

function changesOf({ kind, results }: RecordRequest): OutcomeChange[] {
  return results.map((result) => ({
    id: result.id,
    from: ".",
    to: markOf(kind, result),
    ...(result.reason !== undefined && { reason: result.reason }),
  }));
}
