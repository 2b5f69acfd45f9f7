/** The exclusive handlers that accept or refuse an operation. Short, because they block the key. */
import { InvocationIdParser, type ObjectContext, rpc } from "@restatedev/restate-sdk";
import { type Actor, nameOf, type ReadActor } from "#rollout/actor.ts";
import type { RolloutStatus } from "#rollout/contract.ts";
import {
  type BeginRequest,
  type Run,
  type RunHandle,
  rolloutObject,
  rolloutRuns,
  rolloutWatch,
} from "#rollout/internal.ts";
import { nextStep, passOverFailures } from "#rollout/rules/progress.ts";
import { nextState } from "#rollout/rules/transitions.ts";
import { repairIntervalMs } from "#rollout/services/watch.ts";
import { clearBatches, type RolloutHead, readHead, writeRepair } from "#rollout/state.ts";
import { announce } from "./announce.ts";
import { toStatus } from "./answer.ts";
import { keepSuperseded } from "./superseded.ts";

export async function begin(ctx: ObjectContext, request: BeginRequest): Promise<RunHandle> {
  const before = await readHead(ctx);
  nextState("Rollout", before?.state ?? "idle");
  if (before !== null) await keepSuperseded(ctx, before);
  const rolloutId = ctx.rand.uuidv4();
  const drain = before === null ? {} : drainOf(before);
  const runner = await startRun(ctx, { rolloutId, kind: "rollout", drain: waitList(before) });
  ctx.console.info("starting sentinel rollout", { rolloutId, image: request.image });
  const { isSigned, ...wanted } = request;
  const startedBy = nameOf({ by: wanted.startedBy, ...(isSigned && { isSigned }) });
  const head = newHead({ ...wanted, startedBy, rolloutId, runner, at: await now(ctx) });
  await announce(ctx, { ...head, drain }, { event: "rollout started", by: startedBy });
  // Last: if this handler is killed before the new head is written, the old rollout needs its batches.
  if (before !== null) clearBatches(ctx, before);
  return { rolloutId, runner };
}

export async function beginResume(
  ctx: ObjectContext,
  actor: Actor,
): Promise<RunHandle | { status: RolloutStatus }> {
  const by = nameOf(actor);
  const before = withoutStop(await requireHead(ctx, "Resume"));
  const waves = passOverFailures(before.waves);
  const isIdle = Object.keys(before.openBatches).length === 0;
  const head: RolloutHead = { ...before, state: "in_progress", waves };
  if (before.captured && isIdle && nextStep(waves, undefined).action === "complete") {
    const resumed = await announce(ctx, head, { event: "resumed", by });
    return {
      status: toStatus(await announce(ctx, { ...resumed, state: "completed" }, "completed")),
    };
  }
  const run: Run = { rolloutId: head.rolloutId, kind: "rollout", drain: waitList(before) };
  const runner = await startRun(ctx, run);
  await announce(ctx, { ...head, runner, drain: drainOf(before) }, { event: "resumed", by });
  return { rolloutId: head.rolloutId, runner };
}

export async function beginRollback(ctx: ObjectContext, actor: Actor): Promise<RunHandle> {
  const before = withoutStop(await requireHead(ctx, "RollbackAll"));
  const { rolloutId } = before;
  const runner = await startRun(ctx, { rolloutId, kind: "rollback", drain: waitList(before) });
  const head: RolloutHead = {
    ...before,
    state: "rolling_back",
    runner,
    drain: drainOf(before),
    revertedByLastRollback: 0,
    revertedBefore: before.reverted,
    notReverted: [],
  };
  await announce(ctx, head, { event: "rollback started", by: nameOf(actor) });
  return { rolloutId, runner };
}

export async function cancel(ctx: ObjectContext, readActor: ReadActor): Promise<RolloutStatus> {
  const before = withoutStop(await requireHead(ctx, "Cancel"));
  stopWork(ctx, before);
  const transition = { event: "cancelled", by: nameOf(readActor(ctx)) } as const;
  return toStatus(await announce(ctx, { ...before, state: "cancelled" }, transition));
}

/**
 * Signals open batches to start no more deploys; those in flight finish and are recorded. The run is
 * signalled too: if it only waits, its caller gets the answer at once.
 */
export function stopWork(ctx: ObjectContext, head: RolloutHead): void {
  const open = Object.values(head.openBatches).map(({ invocation }) => invocation);
  for (const invocation of [...open, head.runner]) {
    ctx.invocation(InvocationIdParser.fromString(invocation)).signal<null>("stop").resolve(null);
  }
}

/** The head, if the operation is legal now. Otherwise throws a `ProblemError` (409). */
async function requireHead(
  ctx: ObjectContext,
  operation: "Resume" | "RollbackAll" | "Cancel",
): Promise<RolloutHead> {
  const head = await readHead(ctx);
  nextState(operation, head?.state ?? "idle");
  return head as RolloutHead;
}

/** The head without the fields about how its last run stopped. */
function withoutStop({
  reason: _r,
  cause: _c,
  orderedAtStop: _o,
  stoppedRun: _s,
  ...head
}: RolloutHead): RolloutHead {
  return head;
}

/** Sends the run instead of calling it, so that it survives when the invocation waiting for it is killed. */
async function startRun(ctx: ObjectContext, run: Run): Promise<string> {
  const runner = await ctx.sendClient(rolloutRuns).run(run).invocationId;
  ctx.sendClient(rolloutWatch).run({ rolloutId: run.rolloutId, runner });
  await armRepair(ctx, runner);
  return runner;
}

/** Sets the repair timer for a run. */
export async function armRepair(ctx: ObjectContext, runner: string): Promise<void> {
  writeRepair(ctx, { runner, atMs: await now(ctx) });
  const delay = rpc.sendOpts<{ runner: string }>({ delay: repairIntervalMs });
  ctx.sendClient(rolloutObject, ctx.key).repair({ runner }, delay);
}

/** The batches of this rollout that may still be deploying, and those for which it waits itself. */
function drainOf({ rolloutId, drain = {}, openBatches }: RolloutHead): Record<string, string[]> {
  const own = Object.values(openBatches).map(({ invocation }) => invocation);
  return own.length === 0 ? drain : { ...drain, [rolloutId]: own };
}

/** The invocations for which the next run waits: the last run, and batches that may still be deploying. */
function waitList(before: RolloutHead | null): string[] {
  return before === null ? [] : [before.runner, ...Object.values(drainOf(before)).flat()];
}

const now = (ctx: ObjectContext) => ctx.date.now();

function newHead(
  init: Omit<BeginRequest, "isSigned"> & { rolloutId: string; runner: string; at: number },
) {
  const { at, ...rest } = init;
  const startedAt = new Date(at).toISOString();
  const head: RolloutHead = {
    ...rest,
    state: "in_progress",
    startedAt,
    updatedAt: startedAt,
    sequence: 0,
    captured: false,
    currentWave: 0,
    totalWaves: 0,
    total: 0,
    waves: [],
    succeeded: 0,
    failed: 0,
    reverted: 0,
    revertedByLastRollback: 0,
    tallies: {},
    failedSample: [],
    notReverted: [],
    openBatches: {},
  };
  return head;
}
