/** A pending alert of an API check, and what the check tells those that depend on it. */
import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { ApiCheck } from "#monitor/contract.ts";
import type { FailingRequest } from "#monitor/internal.ts";
import { readQuiet } from "#monitor/operations/quiet-state.ts";
import { timeLimitMs } from "#monitor/probe/run-check.ts";
import { quietUntilMs } from "#monitor/rules/quiet.ts";
import { type DependencyState, stateOfCheck } from "#monitor/rules/suppression.ts";
import { openAlert } from "#monitor/rules/verdict.ts";
import { handOver, writeDown } from "#monitor/transitions/hand-over.ts";
import { withDependencies } from "#monitor/transitions/with-dependencies.ts";
import type { CheckParts } from "./parts.ts";
import { lookAgain, looks, readRun, readState, timers, writeState } from "./state.ts";
import { reportSlackMs, showCheck } from "./steps.ts";

/** Opens the pending alert, unless what the check depends on fails, or may still turn out to. */
export async function reconsider(
  ctx: ObjectContext,
  { check, generation }: { check: ApiCheck; generation: number },
  parts: CheckParts,
): Promise<null> {
  const timer = await looks.readCurrent(ctx, generation);
  if (timer === null) return null;
  // Used up, even if it rang a moment early.
  looks.update(ctx, { ...timer, atMs: 0 });
  const atMs = await ctx.date.now();
  const before = await readState(ctx, atMs);
  const pending = before.pendingAlert;
  if (pending === null || before.alert !== null) return null;
  const { runAtMs, reason, locations } = pending;
  const isQuiet = quietUntilMs(await readQuiet(ctx), atMs) !== null;
  const opening = { check, before, isQuiet, atMs, runAtMs };
  const { state, transition } = await withDependencies(ctx, opening, {
    readRollout: parts.readRollout,
    decide: (how) =>
      how.isQuiet
        ? { state: before, transition: null }
        : openAlert(before, { checkId: check.id, atMs, reason, locations, rollout: how.rollout }),
  });
  writeState(ctx, state);
  await lookAgain(ctx, state, atMs);
  if (transition !== null) await handOver(ctx, check, transition);
  const shown = await showCheck(ctx, atMs);
  writeDown(ctx, check.id, { ...shown, ...(transition !== null && { transition }) });
  return null;
}

const unknown: DependencyState = {
  isFailing: false,
  sinceMs: 0,
  nextRunMs: null,
  decidesByMs: null,
};

/** `check`: null when it is not defined; then it suppresses nothing. */
export async function tellFailing(
  ctx: ObjectSharedContext,
  check: ApiCheck | null,
  { sinceMs }: FailingRequest,
): Promise<DependencyState> {
  if (check === null) return unknown;
  const nowMs = await ctx.date.now();
  const state = await readState(ctx, nowMs);
  const dueMs = (await timers.read(ctx))?.dueMs ?? null;
  const openRunMs = (await readRun(ctx))?.scheduledAtMs ?? null;
  const limitMs = timeLimitMs(check) + reportSlackMs;
  return stateOfCheck(check, { state, dueMs, openRunMs, limitMs }, { sinceMs, nowMs });
}
