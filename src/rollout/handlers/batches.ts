/** Launches batches, and closes those that were killed. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { sentinelService } from "#fleet/deploys/contract.ts";
import { together } from "#kernel/restate.ts";
import { toIso } from "#kernel/time.ts";
import { freeSlots, withEndedDeploys } from "#rollout/conditions/availability.ts";
import type { Verdict } from "#rollout/conditions/condition.ts";
import { mayStart } from "#rollout/conditions/decide.ts";
import {
  type BatchRun,
  type LaunchAnswer,
  type LaunchRequest,
  type RecordRequest,
  rolloutBatch,
  type ServingRecord,
} from "#rollout/internal.ts";
import {
  applyResults,
  emptyOutcome,
  markOf,
  marksOf,
  type OutcomeChange,
  type RunKind,
  type Target,
  targetsOf,
} from "#rollout/rules/outcome.ts";
import { applyStep, servedBy, withServing } from "#rollout/rules/progress.ts";
import { parentOf } from "#rollout/rules/spans.ts";
import {
  type Batch,
  type Outcome,
  type RolloutHead,
  readBatch,
  readHead,
  readOutcome,
  writeHead,
  writeOutcome,
} from "#rollout/state.ts";
import { sendLateOutcomes, sendOutcomes, stamp } from "./announce.ts";
import { wasRolledBack } from "./answer.ts";
import { type OrderStop, stopFor } from "./stop.ts";
import { clearLate, currentRollout, readSaved, type SavedRollout } from "./superseded.ts";

/**
 * Launches a batch for those of its members that are to be deployed. Refused once the rollout no longer
 * runs, so that a Cancel takes effect as soon as it is written. The batch is sent from this object,
 * because Restate kills what a killed invocation has sent: killing a run must not kill deploys in
 * flight.
 */
export async function launchBatch(
  ctx: ObjectContext,
  request: LaunchRequest,
): Promise<LaunchAnswer> {
  const [head, batch, known] = await together([
    readHead(ctx),
    readBatch(ctx, request.batch),
    readOutcome(ctx, request.batch),
  ]);
  if (head === null || batch === null || !isWanted(head, request)) return "stopped";
  if (request.kind === "rollout" && evaluateDeploy(head).action !== "start") return "stopped";
  const outcome = known ?? emptyOutcome(batch);
  const { image, includeFailed } = head;
  const targets = targetsOf(batch, outcome, { kind: request.kind, image, includeFailed });
  if (targets.length === 0) return "idle";
  const limits = limitsOf(head, request.kind, targets);
  const trace = head.trace && { trace: parentOf(head.trace) };
  const batchRun = { ...request, run: head.runner, ...limits, ...trace };
  const invocation = await ctx.sendClient(rolloutBatch).run(batchRun).invocationId;
  const inFlight = Math.min(request.parallel, launchable(limits));
  const openBatches = {
    ...head.openBatches,
    [request.batch]: { invocation, inFlight, run: head.runner },
  };
  writeHead(ctx, { ...head, openBatches });
  // Still open: the last invocation of this batch was killed.
  const isLost = outcome.open || outcome.lost === true;
  writeOutcome(ctx, request.batch, { ...outcome, open: true, ...(isLost && { lost: true }) });
  return { invocation };
}

type Limits = Pick<BatchRun, "targets" | "hasBudget" | "slots" | "includeFailed">;

function limitsOf(head: RolloutHead, kind: RunKind, targets: Target[]): Limits {
  const { policy, includeFailed, unavailable } = head;
  const slots = kind === "rollout" ? freeSlots(head) : undefined;
  const down = new Set(slots === undefined ? [] : unavailable?.ids);
  return {
    targets: targets.map((one) => (down.has(one.id) ? { ...one, isDown: true } : one)),
    ...(policy.max_failed !== undefined && { hasBudget: true }),
    ...(slots !== undefined && { slots }),
    ...(includeFailed === true && { includeFailed: true }),
  };
}

/** Returns how many may be in flight at once. */
function launchable({ targets, slots = targets.length }: Limits): number {
  const down = targets.filter(({ isDown }) => isDown === true).length;
  return Math.min(targets.length, down + Math.max(0, slots));
}

/** Closes killed batches and abandons their deploys. Their image is unknown: a rollback still takes them. */
export async function closeLostBatches(
  ctx: ObjectContext,
  rollout: SavedRollout,
  lost: readonly string[],
): Promise<RolloutHead> {
  const { head } = rollout;
  for (const n of lost.map(Number)) {
    const batch = await rollout.batch(n);
    const outcome = await rollout.outcome(n);
    if (batch === null || outcome === null) continue;
    for (const { id, image } of mayBeInFlight(head, batch, outcome)) {
      const abandoned = { image, reason: "cancelled: the deploy's batch was killed" };
      ctx.sendClient(sentinelService, id).Abandon(abandoned);
    }
    if (rollout.isCurrent) rollout.writeOutcome(n, { ...outcome, lost: true });
    else clearLate(ctx, head.rolloutId, n);
  }
  const gone = new Set(lost);
  const left = Object.entries(head.openBatches).filter(([n]) => !gone.has(n));
  return { ...head, openBatches: Object.fromEntries(left) };
}

/** A rollback deploys the previous images; deploys of the rollout before it may lack a result too. */
function mayBeInFlight(head: RolloutHead, batch: Batch, outcome: Outcome): Target[] {
  const kinds: RunKind[] = wasRolledBack(head) ? ["rollout", "rollback"] : ["rollout"];
  const { image, includeFailed } = head;
  return kinds.flatMap((kind) => targetsOf(batch, outcome, { kind, image, includeFailed }));
}

/** False for the launch of a run that was stopped and replaced. */
function isWanted(head: RolloutHead, { rolloutId, kind, runner }: LaunchRequest): boolean {
  const working = kind === "rollout" ? "in_progress" : "rolling_back";
  return head.rolloutId === rolloutId && head.state === working && head.runner === runner;
}

/** Decides if another deploy of the current wave may start. */
function evaluateDeploy(head: RolloutHead): Verdict {
  const nowMs = Date.parse(head.updatedAt);
  const next = { kind: "deploy" } as const;
  return mayStart({
    head,
    next,
    wave: head.currentWave - 1,
    nowMs,
    windows: "stale",
    fleet: "stale",
  });
}

// The exclusive handler that records the results of a batch, and stops the rollout when they are too bad.

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
  // The close of a batch writes all its results: history may miss some, if a write was killed.
  const told = request.closed ? marksOf(batch, after) : changes;
  const isFirst = before.marks === emptyOutcome(batch).marks;
  sendOutcomes(ctx, stamped, { changes: told, ...((isFirst || request.closed) && { batch }) });
  if (rollout.isCurrent) await stopIfOver(ctx, stamped, orders);
  return null;
}

/** Records what failed sentinels serve, by the fleet's list after a pause. */
export async function recordServing(
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
