/** The exclusive handlers that accept or refuse an operation. Short, because they block the key. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { type Actor, nameOf, type ReadActor } from "#kernel/actor.ts";
import { ProblemError } from "#kernel/problem.ts";
import type { ResumeRequest } from "#rollout/calls-contract.ts";
import { mayStart } from "#rollout/conditions/decide.ts";
import { nextOf } from "#rollout/conditions/next.ts";
import {
  endedWave,
  unjudgedWave,
  wasInterrupted,
  withoutAnyWait,
  withResumedWait,
} from "#rollout/conditions/wait.ts";
import type { RolloutProblemCode, RolloutStatus } from "#rollout/contract.ts";
import { type OfFleet, ofFleet } from "#rollout/fleets.ts";
import type { RunHandle, StartRequest } from "#rollout/internal.ts";
import { withoutFailures } from "#rollout/rules/outcome.ts";
import { batchesOf } from "#rollout/rules/plan.ts";
import { applyRetry, passOverFailures } from "#rollout/rules/progress.ts";
import { logFields } from "#rollout/rules/spans.ts";
import { withDefaults } from "#rollout/rules/start.ts";
import { nextState } from "#rollout/rules/transitions.ts";
import { clearBatches, type HeadPolicy, type RolloutHead, readHead } from "#rollout/state.ts";
import { announce } from "./announce.ts";
import { toStatus } from "./answer.ts";
import { changeOutcomes } from "./change-outcomes.ts";
import { beginWatch, openFault } from "./completed.ts";
import { cancelRun, drainOf, startRun, waitList } from "./runs.ts";
import { endByOperator, type OrderStop, requireHead, withoutStop } from "./stop.ts";
import { saveSuperseded } from "./superseded.ts";

/** `defaults`: what the settings say, for what the request leaves out. */
export async function begin(
  ctx: ObjectContext,
  request: StartRequest,
  defaults: HeadPolicy = {},
): Promise<RunHandle> {
  const before = await readHead(ctx);
  nextState("Rollout", before);
  // Journaled: the settings may be others when this handler is tried again.
  const settings = await ctx.run("read-settings", () => defaults);
  const policy = withDefaults(settings, request.policy);
  requireStarter(request, policy);
  if (before !== null) await saveSuperseded(ctx, before);
  const rolloutId = ctx.rand.uuidv4();
  const drain = before === null ? {} : drainOf(before);
  const { isSigned, ...wanted } = request;
  const startedBy = nameOf({ by: wanted.startedBy, ...(isSigned && { isSigned }) });
  const { image } = wanted;
  const ids = logFields(wanted);
  ctx.console.info("starting sentinel rollout", { rolloutId, image, by: startedBy, ...ids });
  const run = { rolloutId, kind: "rollout", drain: waitList(before), policy } as const;
  const runner = await startRun(ctx, run);
  const at = await ctx.date.now();
  const fault = before === null ? undefined : openFault(before);
  const of = {
    ...wanted,
    ...ofFleet(ctx.key),
    ...(fault && { fault }),
    policy,
    startedBy,
    rolloutId,
  };
  const head = newHead({ ...of, runner, at });
  await announce(ctx, { ...head, drain }, { event: "rollout started", by: startedBy });
  // Last: if this handler is killed before the new head is written, the old rollout needs its batches.
  if (before !== null) clearBatches(ctx, before);
  return { rolloutId, runner };
}

/** Throws the 403 where another than the starter has to approve, and nobody knows who that is. */
function requireStarter({ isSigned }: StartRequest, { approvals }: HeadPolicy): void {
  if (isSigned === true || approvals === undefined) return;
  const detail = `somebody else than its starter has to approve waves of this rollout (approvals: ${approvals}), which nobody starts without a name: call control, or Restate's own address, with a token`;
  throw new ProblemError<RolloutProblemCode>({ status: 403, code: "not_an_operator", detail });
}

export async function startResume(
  ctx: ObjectContext,
  { retry_failed: retriesFailed = false, ...actor }: Actor & ResumeRequest,
): Promise<RunHandle | { status: RolloutStatus }> {
  const by = nameOf(actor);
  const stopped = await requireHead(ctx, "Resume");
  const tried = retriesFailed ? await withRetry(ctx, stopped) : stopped;
  const nowMs = await ctx.date.now();
  const before = withoutStop(withResumedWait({ ...tried, updatedAt: stopped.updatedAt }, nowMs));
  const waves = passOverFailures(before.waves, { wasInterrupted: wasInterrupted(stopped) });
  const isIdle = Object.keys(before.openBatches).length === 0;
  const head: RolloutHead = { ...before, state: "in_progress", waves };
  if (before.captured && isIdle && isComplete(head, nowMs)) {
    const resumed = withoutAnyWait(await announce(ctx, head, { event: "resumed", by }));
    const completed: RolloutHead = { ...resumed, state: "completed" };
    return { status: toStatus(beginWatch(ctx, await announce(ctx, completed, "completed"))) };
  }
  const { rolloutId, policy } = head;
  const run = { rolloutId, kind: "rollout", drain: waitList(before), policy } as const;
  const runner = await startRun(ctx, run);
  const transition = { event: retriesFailed ? "resumed to retry" : "resumed", by } as const;
  await announce(ctx, { ...head, runner, drain: drainOf(before) }, transition);
  return { rolloutId, runner };
}

/** True if nothing is left to start or to wait for. */
function isComplete(head: RolloutHead, nowMs: number): boolean {
  const next = nextOf(head);
  if (next.kind !== "end" || unjudgedWave(head) !== undefined) return false;
  return (
    mayStart({ head, next, wave: endedWave(head), nowMs, windows: "stale", fleet: "stale" })
      .action === "start"
  );
}

type StopParts = { readActor: ReadActor; orders: OrderStop };

/** Finishes what is in flight; Resume continues where it was. */
export async function pause(
  ctx: ObjectContext,
  { readActor, orders }: StopParts,
): Promise<RolloutStatus> {
  const before = withoutStop(await requireHead(ctx, "Pause"));
  const transition = { event: "paused", by: nameOf(readActor(ctx)) } as const;
  const paused: RolloutHead = { ...before, state: "paused", cause: "operator" };
  return endByOperator(ctx, paused, { transition, orders });
}

export async function cancel(
  ctx: ObjectContext,
  { readActor, orders }: StopParts,
): Promise<RolloutStatus> {
  const before = withoutStop(await requireHead(ctx, "Cancel"));
  const transition = { event: "cancelled", by: nameOf(readActor(ctx)) } as const;
  const cancelled: RolloutHead = { ...before, state: "cancelled" };
  const status = await endByOperator(ctx, cancelled, { transition, orders });
  cancelRun(ctx, before, status);
  return status;
}

function newHead(
  init: Omit<StartRequest, "isSigned" | "policy"> &
    OfFleet & { policy: HeadPolicy; rolloutId: string; fault?: string; runner: string; at: number },
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
    endedWaves: 0,
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

/** The head with the failures of the current wave taken back. A later write of the head must follow. */
async function withRetry(ctx: ObjectContext, head: RolloutHead): Promise<RolloutHead> {
  const wave = head.waves[head.currentWave - 1];
  const batches = wave === undefined || wave.failed === 0 ? [] : batchesOf(wave);
  // Counted also when nothing changes: an earlier try may have been killed before it wrote the head.
  return changeOutcomes(ctx, head, { batches, decide: withoutFailures, apply: applyRetry });
}
