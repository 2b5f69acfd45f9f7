/** `ApiCheck`: the virtual object that runs one API check on its grid and alerts. */
import { implement, type ObjectContext, type ObjectSharedContext } from "@restatedev/restate-sdk";
import { asTerminalError } from "#kernel/terminal.ts";
import type { ApiCheck, CheckResult } from "#monitor/contract.ts";
import { apiCheckObject } from "#monitor/internal.ts";
import type { RunNowAnswer } from "#monitor/operations/contract.ts";
import { createOperatorHandlers, type OperatedCheck } from "#monitor/operations/handlers.ts";
import { refusal } from "#monitor/operations/rules.ts";
import { forEver, soonForgotten } from "#monitor/retry.ts";
import { isRemoved } from "#monitor/transitions/end-alert.ts";
import type { CheckParts } from "./parts.ts";
import { readState, writeState } from "./state.ts";
import { close, ensure, report, retire, tick, writeSnapshot } from "./steps.ts";

/** The check of an object's key. Throws 404. */
type FindCheck = (ctx: { key: string }) => ApiCheck;

const isPrivate = { ingressPrivate: true };

export function createApiCheckObject(parts: CheckParts) {
  const find = createFind(parts);
  const defined = new Set(parts.definitions.apiChecks.map(({ id }) => id));
  return implement(apiCheckObject, {
    handlers: {
      ...createOperatorHandlers({
        find: (ctx) => {
          find(ctx);
          return operatedOf(ctx);
        },
        readActor: parts.readActor,
      }),
      Run: async (ctx) => runNow(ctx, find(ctx), parts),
      ensure: async (ctx) => ensure(ctx, find(ctx), parts),
      retire: async (ctx) => ((await isRemoved(ctx, defined)) ? retire(ctx) : null),
      tick: async (ctx, { generation }) => tick(ctx, { check: find(ctx), generation }, parts),
      report: async (ctx, given) => report(ctx, { check: find(ctx), given }, parts),
      close: async (ctx, { scheduledAtMs }) =>
        close(ctx, { check: find(ctx), scheduledAtMs }, parts),
    },
    options: {
      journalRetention: 0,
      retryPolicy: forEver,
      asTerminalError,
      // `report` is not private: the gateway sends it the reports of further locations.
      handlers: {
        tick: isPrivate,
        close: isPrivate,
        report: { idempotencyRetention: soonForgotten },
      },
    },
  });
}

function createFind({ definitions }: CheckParts): FindCheck {
  const checks = new Map(definitions.apiChecks.map((check) => [check.id, check]));
  return ({ key }) => {
    const check = checks.get(key);
    if (check === undefined) throw refusal(404, "unknown_check", `there is no API check ${key}`);
    return check;
  };
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
  { activeChecks, runCheck }: CheckParts,
): Promise<RunNowAnswer> {
  if (!activeChecks.has(check.id)) {
    throw refusal(409, "check_off", `${check.id} is off: its settings are missing`);
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
