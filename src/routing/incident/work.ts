/** The handlers that begin an apply, record its progress and end it. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { ProblemError } from "#kernel/problem.ts";
import { endsWithin } from "#kernel/restate.ts";
import { toIso } from "#kernel/time.ts";
import { listJobs } from "./apply.ts";
import type { AlertRoutesProblemCode, ApplyRequest, ApplyResult } from "./contract.ts";
import { alertRoutesRuns, type Creation, type RouteNote, type StartedApply } from "./internal.ts";
import {
  type ApplyInProgress,
  readApplying,
  readCreations,
  readLastApply,
  readOwned,
  writeApplying,
  writeCreations,
  writeEnd,
  writeOwned,
} from "./state.ts";

export function problem(
  status: number,
  code: AlertRoutesProblemCode,
  detail: string,
): ProblemError {
  return new ProblemError<AlertRoutesProblemCode>({ status, code, detail });
}

export async function startApply(
  ctx: ObjectContext,
  { by, ...request }: ApplyRequest & { by: string },
): Promise<StartedApply> {
  const current = await readApplying(ctx);
  if (current !== null && (await isRunning(ctx, current))) {
    const detail = `an apply has been running since ${current.started_at}; wait for its end`;
    throw problem(409, "already_applying", detail);
  }
  const applyId = ctx.rand.uuidv4();
  const startedAtMs = await ctx.date.now();
  const owned = await readOwned(ctx);
  const creations = await readCreations(ctx);
  const work = { applyId, by, startedAtMs, request, owned, creations };
  const invocation = await ctx.sendClient(alertRoutesRuns, ctx.key).apply(work).invocationId;
  writeApplying(ctx, {
    apply_id: applyId,
    by,
    started_at: toIso(startedAtMs),
    total: listJobs({ request, owned }).length,
    routes: [],
    backup: null,
    invocation,
  });
  return { applyId, invocation };
}

/** Time for the end of an invocation that has ended to show. */
const attachMs = 250;

async function isRunning(ctx: ObjectContext, { invocation }: ApplyInProgress): Promise<boolean> {
  return (await endsWithin(ctx, [invocation], attachMs)) === undefined;
}

/** Stored until the outcome is known, so that the next apply knows of it however this one ends. */
export async function intend(ctx: ObjectContext, { name, declared }: Creation): Promise<null> {
  const begun_at = toIso(await ctx.date.now());
  writeCreations(ctx, { ...(await readCreations(ctx)), [name]: { begun_at, declared } });
  return null;
}

export async function recordStep(
  ctx: ObjectContext,
  { applyId, result, owned }: RouteNote,
): Promise<null> {
  if (owned !== undefined) {
    const { [result.name]: _before, ...others } = await readOwned(ctx);
    writeOwned(ctx, owned === null ? others : { ...others, [result.name]: owned });
  }
  if (result.outcome !== "failed") await closeCreation(ctx, result.name);
  const applying = await readApplying(ctx);
  if (applying?.apply_id === applyId) {
    writeApplying(ctx, { ...applying, routes: [...applying.routes, result] });
  }
  return null;
}

async function closeCreation(ctx: ObjectContext, name: string): Promise<void> {
  const { [name]: closed, ...others } = await readCreations(ctx);
  if (closed !== undefined) writeCreations(ctx, others);
}

export async function storeBackup(
  ctx: ObjectContext,
  { applyId, backup }: { applyId: string; backup: string },
): Promise<null> {
  const applying = await readApplying(ctx);
  if (applying?.apply_id === applyId) writeApplying(ctx, { ...applying, backup });
  return null;
}

/** An apply that was closed as lost may still report its end: a newer one is not overwritten by it. */
export async function finish(ctx: ObjectContext, result: ApplyResult): Promise<void> {
  const applying = await readApplying(ctx);
  if (applying?.apply_id === result.apply_id) writeEnd(ctx, result);
}

/** Closes an apply whose run was killed, with the results that it has noted so far. */
export async function lost(
  ctx: ObjectContext,
  { applyId, reason }: { applyId: string; reason: string },
): Promise<ApplyResult> {
  const applying = await readApplying(ctx);
  if (applying?.apply_id !== applyId) return endOf(ctx, applyId);
  const { invocation: _invocation, ...progress } = applying;
  ctx.console.error("alert routes apply lost", { applyId, detail: reason });
  const ended_at = toIso(await ctx.date.now());
  const result: ApplyResult = { ...progress, outcome: "stopped", doubled: [], ended_at };
  writeEnd(ctx, result);
  return result;
}

async function endOf(ctx: ObjectContext, applyId: string): Promise<ApplyResult> {
  const last = await readLastApply(ctx);
  if (last?.apply_id === applyId) return last;
  throw problem(409, "apply_lost", "the apply was killed; alerts status shows the routes' state");
}
