/** `ApiCheck`: the virtual object that runs one API check on its grid and alerts. */
import { implement, type ObjectContext, type ObjectSharedContext } from "@restatedev/restate-sdk";
import { asTerminalError } from "#kernel/terminal.ts";
import type { ApiCheck, CheckResult } from "#monitor/contract.ts";
import { createHeldDefinition, type HeldDefinition } from "#monitor/definitions/held-definition.ts";
import { apiCheckObject } from "#monitor/internal.ts";
import type { RunNowAnswer } from "#monitor/operations/contract.ts";
import { createOperatorHandlers, type OperatedCheck } from "#monitor/operations/handlers.ts";
import { refusal } from "#monitor/operations/rules.ts";
import { forEver, soonForgotten } from "#monitor/retry.ts";
import type { CheckParts } from "./parts.ts";
import { reconsider, tellFailing } from "./reconsider.ts";
import { readState, writeState } from "./state.ts";
import { close, ensure, report, retire, tick, writeSnapshot } from "./steps.ts";

const isPrivate = { ingressPrivate: true };

export function createApiCheckObject(parts: CheckParts) {
  const held = createHeldDefinition(({ apiChecks }) => apiChecks, parts.readDefinitions);
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
        report: { idempotencyRetention: soonForgotten },
      },
    },
  });
}

/** A call of a check that is removed by then does nothing: `retire` ends what is left of it. */
function createIfDefined(held: HeldDefinition<ApiCheck>) {
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
