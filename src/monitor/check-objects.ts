/** The objects of API checks and heartbeats: what operators call. Each change is one transaction of the check's row. */
import { implement, type ObjectContext, type ObjectSharedContext } from "@restatedev/restate-sdk";
import { type Actor, nameOf, type ReadActor, sharedActor } from "#kernel/actor.ts";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import { asTerminalError, unkept } from "#kernel/restate.ts";
import type { CheckResult, OpenAlert, Quiet, ReadDefinitions } from "#monitor/contract.ts";
import type { Inbox } from "#monitor/heartbeat/inbox.ts";
import type { AlertState, RunNowAnswer } from "#monitor/operations/contract.ts";
import {
  type Acknowledgement,
  acknowledge,
  addMaintenance,
  describeAlertState,
  mute,
  refusal,
} from "#monitor/operations/rules.ts";
import type { RunCheck } from "#monitor/probe/run-check.ts";
import type { WhyOff } from "#monitor/probe/secrets.ts";
import type { ChangeRow } from "#monitor/state/evaluate.ts";
import type { Row } from "#monitor/state/row.ts";
import type { States } from "#monitor/state/store.ts";
import { apiCheckObject, forEver, heartbeatObject } from "./internal.ts";

export type CheckObjectParts = {
  states: Pick<States, "change" | "decide">;
  readDefinitions: ReadDefinitions;
  /** Returns the caller of an operator's change. */
  readActor: ReadActor;
  whyOff: WhyOff;
  runCheck: RunCheck;
  inbox: Pick<Inbox, "register">;
  /** The address before the token in ping URLs; null: the address of control. */
  pingUrl: string | null;
};

/** Longer than a statement can take: a change must not take effect after its caller got an error. */
const limits = { limitMs: 330_000, problem: "checks and heartbeats cannot be changed" };
const changing = databaseRead("change", limits);
const registering = databaseRead("save-token", limits);
const running = databaseRead("probe", { ...limits, problem: "the check cannot be run" });

const options = { journalRetention: 0, retryPolicy: forEver, asTerminalError };

export function createApiCheckObject(parts: CheckObjectParts) {
  return implement(apiCheckObject, {
    handlers: {
      ...createOperatorHandlers(parts, "API check"),
      Run: (ctx) => runNow(ctx, parts),
    },
    options: { ...options, handlers: { Run: unkept } },
  });
}

export function createHeartbeatObject(parts: CheckObjectParts) {
  const { inbox, readActor, readDefinitions, states, pingUrl } = parts;
  return implement(heartbeatObject, {
    handlers: {
      ...createOperatorHandlers(parts, "heartbeat"),
      Register: async (ctx, { token_hash }) => {
        const by = nameOf(readActor(ctx));
        const { replaced } = await readNow(ctx, registering, async () => {
          const { heartbeats } = await readDefinitions({ isFresh: true });
          const heartbeat = heartbeats.find(({ id }) => id === ctx.key);
          if (heartbeat === undefined) throw unknown("heartbeat", ctx.key);
          if (heartbeat.drill !== undefined) throw refuseDrill(ctx.key);
          const saved = await inbox.register(heartbeat, { token: token_hash, by });
          await states.decide(ctx.key);
          return saved;
        });
        ctx.console.info("heartbeat registered", { check: ctx.key, by, replaced });
        return { check: ctx.key, replaced, ping_url: pingUrl };
      },
    },
    options,
  });
}

function unknown(kind: "API check" | "heartbeat", id: string) {
  return refusal(404, "unknown_check", `there is no ${kind} ${id}`);
}

function refuseDrill(id: string) {
  const detail = `${id} is a drill, which needs no ping URL: it pings when its test alert was confirmed`;
  return refusal(409, "is_drill", detail);
}

/** Changes mute and maintenance as an operator wants it. */
type ChangeQuiet<Request> = (
  quiet: Quiet,
  request: Request & { by: string },
  nowMs: number,
) => Quiet;

type Kind = "API check" | "heartbeat";

function createOperatorHandlers({ states, readActor }: CheckObjectParts, kind: Kind) {
  /** A repeat after a lost answer finds the change made, and makes it again. */
  const change = (ctx: ObjectContext, of: ChangeRow): Promise<AlertState> =>
    readNow(ctx, changing, async () => {
      const row = await states.change(ctx.key, (before, at) => {
        const isIt = at.isDefined && (before.kind === "heartbeat") === (kind === "heartbeat");
        if (!isIt) throw unknown(kind, ctx.key);
        return of(before, at);
      });
      if (row === undefined) throw unknown(kind, ctx.key);
      return describeAlertState(ctx.key, { quiet: row.quiet, alert: row.state?.alert ?? null });
    });
  const quiet =
    <Request extends object>(message: string, changeQuiet: ChangeQuiet<Request>) =>
    async (ctx: ObjectContext, request: Request) => {
      const by = nameOf(readActor(ctx));
      const state = await change(ctx, (row, { nowMs }) => ({
        ...row,
        quiet: changeQuiet(row.quiet, { ...request, by }, nowMs),
      }));
      ctx.console.info(message, { check: ctx.key, by, ...request });
      return state;
    };
  return {
    Mute: quiet("check muted", mute),
    Unmute: quiet("check unmuted", ({ maintenance }) => ({ mutedUntilMs: null, maintenance })),
    Maintenance: quiet("maintenance added", addMaintenance),
    EndMaintenance: quiet("maintenance ended", (now) => ({ ...now, maintenance: [] })),
    Acknowledge: async (ctx: ObjectContext, request: Acknowledgement) => {
      const by = acknowledgerOf(readActor(ctx), request);
      const state = await change(ctx, (row, { nowMs }) =>
        withAlert(row, acknowledge(row.state?.alert ?? null, { ...request, by }, nowMs)),
      );
      const episode = state.alert?.episode;
      ctx.console.info("alert acknowledged", { check: ctx.key, by, episode });
      return state;
    },
  };
}

function withAlert(row: Row, alert: OpenAlert): Row {
  if (row.kind === "api") return { ...row, state: { ...row.state, alert } };
  return { ...row, state: row.state && { ...row.state, alert } };
}

/** The ingress token is shared: its name is followed by the name that the caller has given, which counts for nobody else. */
function acknowledgerOf(actor: Actor, { by: given }: Acknowledgement): string {
  const by = nameOf(actor);
  return by === sharedActor && given !== by ? `${by} (${given})`.slice(0, 200) : by;
}

async function runNow(
  ctx: ObjectSharedContext,
  { readDefinitions, whyOff, runCheck }: CheckObjectParts,
): Promise<RunNowAnswer> {
  return readNow(ctx, running, async () => {
    const { apiChecks } = await readDefinitions({ isFresh: true });
    const check = apiChecks.find(({ id }) => id === ctx.key);
    if (check === undefined) throw unknown("API check", ctx.key);
    const missing = whyOff(check);
    if (missing.length > 0) {
      throw refusal(409, "check_off", `${check.id} is off: set ${missing.join(" and ")}`);
    }
    return toAnswer(await runCheck(check, Date.now()));
  });
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
