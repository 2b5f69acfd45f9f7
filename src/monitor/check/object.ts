/** `ApiCheck`: the virtual object that runs one API check on its grid and alerts. */
import { implement, type ObjectContext, type ObjectSharedContext } from "@restatedev/restate-sdk";
import { asTerminalError, unkept } from "#kernel/restate.ts";
import type { ApiCheck, CheckResult } from "#monitor/contract.ts";
import { createSavedRow, type SavedRow } from "#monitor/definitions/saved-row.ts";
import { apiCheckObject, type FailingRequest } from "#monitor/internal.ts";
import type { RunNowAnswer } from "#monitor/operations/contract.ts";
import { createOperatorHandlers, type OperatedCheck } from "#monitor/operations/handlers.ts";
import { readQuiet } from "#monitor/operations/quiet-state.ts";
import { refusal } from "#monitor/operations/rules.ts";
import { timeLimitMs } from "#monitor/probe/run-check.ts";
import { forEver, soonForgotten } from "#monitor/retry.ts";
import { quietUntilMs } from "#monitor/rules/quiet.ts";
import { type DependencyState, stateOfCheck } from "#monitor/rules/suppression.ts";
import { openAlert } from "#monitor/rules/verdict.ts";
import { record, sendToChannels } from "#monitor/transitions/hand-over.ts";
import { withDependencies } from "#monitor/transitions/with-dependencies.ts";
import type { CheckParts } from "./parts.ts";
import { pollAgain, pollTimers, readRun, readState, timers, writeState } from "./state.ts";
import {
  close,
  ensure,
  report,
  reportSlackMs,
  retire,
  tick,
  toCheckEntry,
  writeSnapshot,
} from "./steps.ts";

const isPrivate = { ingressPrivate: true };

export function createApiCheckObject(parts: CheckParts) {
  const held = createSavedRow(({ apiChecks }) => apiChecks, parts.readDefinitions);
  const ifDefined = createIfDefined(held);
  return implement(apiCheckObject, {
    handlers: {
      ...createOperatorHandlers({
        find: async (ctx) => {
          requireCheck(await held.read(ctx), ctx);
          return operatedOf(ctx);
        },
        readActor: parts.readActor,
      }),
      Run: async (ctx) => runNow(ctx, requireCheck(await held.peek(ctx), ctx), parts),
      ensure: async (ctx) => {
        const check = await held.readAgain(ctx);
        return check === null ? null : ensure(ctx, check, parts);
      },
      // The caller may be an older version of the program, which knows other checks.
      retire: async (ctx) => ((await held.readAgain(ctx)) === null ? retire(ctx) : null),
      tick: ifDefined((ctx, check, { generation }) => tick(ctx, { check, generation }, parts)),
      report: ifDefined((ctx, check, given) => report(ctx, { check, given }, parts)),
      close: ifDefined((ctx, check, { scheduledAtMs }) =>
        close(ctx, { check, scheduledAtMs }, parts),
      ),
      reconsider: ifDefined((ctx, check, { generation }) =>
        reconsider(ctx, { check, generation }, parts),
      ),
      tellFailing: async (ctx, request) => tellFailing(ctx, await held.peek(ctx), request),
    },
    options: {
      journalRetention: 0,
      retryPolicy: forEver,
      asTerminalError,
      // `report` is not private: the gateway sends it the reports of further locations.
      handlers: {
        tick: isPrivate,
        close: isPrivate,
        reconsider: isPrivate,
        tellFailing: isPrivate,
        Run: unkept,
        report: { idempotencyRetention: soonForgotten },
      },
    },
  });
}

/** A call of a check that is removed by then does nothing: `retire` ends what is left of it. */
function createIfDefined(held: SavedRow<ApiCheck>) {
  return <Request>(
    step: (ctx: ObjectContext, check: ApiCheck, request: Request) => Promise<null>,
  ) =>
    async (ctx: ObjectContext, request: Request): Promise<null> => {
      const check = await held.read(ctx);
      return check === null ? null : step(ctx, check, request);
    };
}

function requireCheck(check: ApiCheck | null, { key }: { key: string }): ApiCheck {
  if (check === null) throw refusal(404, "unknown_check", `there is no API check ${key}`);
  return check;
}

function operatedOf(ctx: ObjectContext): OperatedCheck {
  return {
    readAlert: async (nowMs) => (await readState(ctx, nowMs)).alert,
    writeAlert: async (alert, nowMs) =>
      writeState(ctx, { ...(await readState(ctx, nowMs)), alert }),
    quietChanged: async () => {},
    writeSnapshot: (nowMs) => writeSnapshot(ctx, nowMs),
  };
}

async function runNow(
  ctx: ObjectSharedContext,
  check: ApiCheck,
  { whyOff, runCheck }: CheckParts,
): Promise<RunNowAnswer> {
  const missing = whyOff(check);
  if (missing.length > 0) {
    throw refusal(409, "check_off", `${check.id} is off: set ${missing.join(" and ")}`);
  }
  const nowMs = await ctx.date.now();
  return toAnswer(await ctx.run("probe", () => runCheck(check, nowMs)));
}

function toAnswer(result: CheckResult): RunNowAnswer {
  const { phases } = result;
  return {
    check: result.checkId,
    location: result.location,
    started_at: new Date(result.startedAtMs).toISOString(),
    grade: result.grade,
    cause: result.cause,
    reason: result.reason,
    status: result.status,
    duration_ms: result.durationMs,
    dns_ms: phases.dns,
    connect_ms: phases.connect,
    tls_ms: phases.tls,
    first_byte_ms: phases.firstByte,
    transfer_ms: phases.transfer,
    tls_days_left: result.tlsDaysLeft,
  };
}

/** Opens the pending alert, unless what the check depends on fails, or may still turn out to. */
async function reconsider(
  ctx: ObjectContext,
  { check, generation }: { check: ApiCheck; generation: number },
  parts: CheckParts,
): Promise<null> {
  const timer = await pollTimers.readCurrent(ctx, generation);
  if (timer === null) return null;
  // Used up, even if it rang a moment early.
  pollTimers.update(ctx, { ...timer, atMs: 0 });
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
  await pollAgain(ctx, state, atMs);
  if (transition !== null) await sendToChannels(ctx, check, transition);
  const shown = await toCheckEntry(ctx, atMs);
  record(ctx, check.id, { ...shown, ...(transition !== null && { transition }) });
  return null;
}

const unknown: DependencyState = {
  isFailing: false,
  sinceMs: 0,
  nextRunMs: null,
  decidesByMs: null,
};

/** `check`: null when it is not defined; then it suppresses nothing. */
async function tellFailing(
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
