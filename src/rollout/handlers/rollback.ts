/** Begins a rollback, by an operator or by itself. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { type Actor, nameOf } from "#kernel/actor.ts";
import type { RunHandle } from "#rollout/internal.ts";
import type { RollbackRequest } from "#rollout/requests/contract.ts";
import type { RolloutHead } from "#rollout/state.ts";
import { announce } from "./announce.ts";
import { requireHead, withoutStop } from "./legal.ts";
import { drainOf, startRun, waitList } from "./runs.ts";

export async function beginRollback(
  ctx: ObjectContext,
  { include_failed: includeFailed = false, ...actor }: Actor & RollbackRequest,
): Promise<RunHandle> {
  const before = withoutStop(await requireHead(ctx, "RollbackAll"));
  const { rolloutId, runner } = await startRollback(ctx, before, {
    by: nameOf(actor),
    includeFailed,
  });
  return { rolloutId, runner };
}

type Rollback = { by: string; includeFailed: boolean; isAutomatic?: boolean };

export async function startRollback(
  ctx: ObjectContext,
  { automaticRollback: _a, rollbackDue: _d, ...before }: RolloutHead,
  { by, includeFailed, isAutomatic = false }: Rollback,
): Promise<RolloutHead> {
  const { rolloutId } = before;
  const runner = await startRun(ctx, {
    rolloutId,
    kind: "rollback",
    drain: waitList(before),
    policy: {},
  });
  const head: RolloutHead = {
    ...before,
    state: "rolling_back",
    runner,
    drain: drainOf(before),
    revertedByLastRollback: 0,
    revertedBefore: before.reverted,
    failedBefore: before.failedBefore ?? before.failed,
    notReverted: [],
    includeFailed,
    rolledBackFrom: before.state === "paused" ? "paused" : "cancelled",
    ...(isAutomatic && { automaticRollback: runner }),
  };
  return announce(ctx, head, { event: "rollback started", by });
}
