/** `Heartbeat`: the virtual object that waits for the pings of one job. */
import { implement, type ObjectContext, type ObjectSharedContext } from "@restatedev/restate-sdk";
import { nameOf } from "#kernel/actor.ts";
import { inTime } from "#kernel/async.ts";
import { asTerminalError } from "#kernel/restate.ts";
import type { Heartbeat } from "#monitor/contract.ts";
import { createSavedRow, type SavedRow } from "#monitor/definitions/saved-row.ts";
import { heartbeatObject } from "#monitor/internal.ts";
import { createOperatorHandlers, type OperatedCheck } from "#monitor/operations/handlers.ts";
import { refusal } from "#monitor/operations/rules.ts";
import { forEver, soonForgotten } from "#monitor/retry.ts";
import { dueAtMs, reschedule } from "#monitor/rules/deadline.ts";
import { isJobOff, isPingedByUs } from "#monitor/rules/own-jobs.ts";
import type { DependencyState } from "#monitor/rules/suppression.ts";
import { isPlain, rearm } from "./alarm.ts";
import { ensureState, type HeartbeatCall } from "./commit.ts";
import type { HeartbeatParts } from "./parts.ts";
import { ensure, overdue, pollNow, wake } from "./pass-deadline.ts";
import { moveAlert, pause, retire, writeSnapshot } from "./records.ts";
import { isPaused, readState, writeState } from "./state.ts";
import { ping } from "./take-ping.ts";

export function createHeartbeatObject(parts: HeartbeatParts) {
  const { readActor, readDefinitions } = parts;
  const held = createSavedRow(({ heartbeats }) => heartbeats, readDefinitions);
  /** A call of a heartbeat that is removed or paused by then does nothing: what is left of it was ended. */
  const step =
    <Request>(take: (ctx: ObjectContext, call: HeartbeatCall, request: Request) => Promise<null>) =>
    async (ctx: ObjectContext, request: Request): Promise<null> => {
      const heartbeat = await held.read(ctx);
      if (heartbeat === null || (await isPaused(ctx))) return null;
      await moveAlert(ctx, heartbeat);
      return take(ctx, { heartbeat, parts }, request);
    };
  const look = step(ensure);
  const again = step(pollNow);
  const find = async (ctx: ObjectContext) => requireHeartbeat(await held.read(ctx), ctx);
  return implement(heartbeatObject, {
    handlers: {
      ...createOperatorHandlers({
        find: async (ctx) => operatedOf(ctx, await find(ctx)),
        readActor,
      }),
      Register: async (ctx, { token_hash }) => {
        const heartbeat = await find(ctx);
        const { id } = heartbeat;
        if (heartbeat.drill !== undefined) throw refuseDrill(id);
        const by = nameOf(readActor(ctx));
        const { replaced } = await ctx.run("save-token", () =>
          parts.inbox.register(heartbeat, { token: token_hash, by }),
        );
        ctx.console.info("heartbeat registered", { check: id, by, replaced });
        await ensureState(ctx, heartbeat);
        return { check: id, replaced, ping_url: parts.pingUrl };
      },
      ensure: async (ctx) => {
        const isNew = await redefine(ctx, { held, parts });
        return isNew ? again(ctx, {}) : look(ctx, {});
      },
      redefine: async (ctx) => {
        const isNew = await redefine(ctx, { held, parts });
        if (isNew) return again(ctx, {});
        // Without a ping URL it has no deadline that a new definition could move.
        return (await readState(ctx)) === null ? null : look(ctx, {});
      },
      // The caller may be an older version of the program, which knows other heartbeats.
      retire: async (ctx) => ((await held.readAgain(ctx)) === null ? retire(ctx) : null),
      ping: step(ping),
      overdue: step(overdue),
      expire: step(wake),
      tellFailing: async (ctx) => tellFailing(ctx, await held.peek(ctx), parts),
    },
    options: {
      journalRetention: 0,
      retryPolicy: forEver,
      asTerminalError,
      handlers: {
        overdue: { ingressPrivate: true },
        expire: { ingressPrivate: true },
        tellFailing: { ingressPrivate: true },
        ping: { idempotencyRetention: soonForgotten },
      },
    },
  });
}

/**
 * Reads the definition again. Returns whether a schedule by cron changed: nothing is owed of before then, and the
 * deadline is another one.
 */
async function redefine(
  ctx: ObjectContext,
  { held, parts }: { held: SavedRow<Heartbeat>; parts: HeartbeatParts },
): Promise<boolean> {
  const before = await held.readLast(ctx);
  const after = await held.readAgain(ctx);
  if (after !== null) await followJob(ctx, { before, after }, parts);
  const state = await readState(ctx);
  if (before === null || after === null || state === null) return false;
  if (before.schedule === undefined && after.schedule === undefined) return false;
  const nowMs = await ctx.date.now();
  const right = reschedule(state, { before, after, nowMs });
  if (right === state) return false;
  writeState(ctx, right);
  await writeSnapshot(ctx, after, nowMs);
  return true;
}

/** Pauses a heartbeat that nobody pings: its job is off, or it was a job's or a drill and is none now. Goes on later. */
async function followJob(
  ctx: ObjectContext,
  { before, after }: { before: Heartbeat | null; after: Heartbeat },
  { inbox }: HeartbeatParts,
): Promise<void> {
  const state = await readState(ctx);
  const wasPaused = state?.status === "paused";
  const wasDrill = before?.drill !== undefined;
  // One that is defined again may have been either.
  const mayBeLeft = before === null ? state !== null : wasDrill || before.job !== undefined;
  if (isPingedByUs(after)) {
    if (wasPaused) await ensureState(ctx, after);
    return;
  }
  const isLeft = mayBeLeft && after.job === undefined;
  if (wasPaused || !(isJobOff(after) || isLeft)) return;
  const hasUrl = await ctx.run("withdraw-job", () => inbox.withdraw(after.id));
  if (hasUrl) return;
  await pause(ctx, after, wasDrill ? "it is no drill any more" : "the job that pings it is off");
}

function requireHeartbeat(heartbeat: Heartbeat | null, { key }: { key: string }): Heartbeat {
  if (heartbeat === null) throw refusal(404, "unknown_check", `there is no heartbeat ${key}`);
  return heartbeat;
}

function refuseDrill(id: string) {
  const detail = `${id} is a drill, which needs no ping URL: it pings when its test alert was confirmed`;
  return refusal(409, "is_drill", detail);
}

function operatedOf(ctx: ObjectContext, heartbeat: Heartbeat): OperatedCheck {
  return {
    readAlert: async () => (await readState(ctx))?.alert ?? null,
    writeAlert: async (alert) => {
      const state = await readState(ctx);
      if (state !== null) writeState(ctx, { ...state, alert });
    },
    quietChanged: (nowMs) => rearm(ctx, heartbeat, nowMs),
    writeSnapshot: async (nowMs) => {
      if ((await readState(ctx)) !== null) await writeSnapshot(ctx, heartbeat, nowMs);
    },
  };
}

/** From a deadline to the decision about it: the deadlines are polled every second. */
const decisionMs = 5_000;

/** The deadline of a heartbeat that is ok is in Postgres; asked for longer, it would delay an alert. */
const databaseTimeoutMs = 1_500;

/** `heartbeat`: null when it is not defined. Then, and while its job is off, it suppresses nothing. */
async function tellFailing(
  ctx: ObjectSharedContext,
  heartbeat: Heartbeat | null,
  { inbox }: Pick<HeartbeatParts, "inbox">,
): Promise<DependencyState> {
  const state = await readState(ctx);
  if (heartbeat === null || state === null || state.status === "paused") {
    return { isFailing: false, sinceMs: 0, nextRunMs: null, decidesByMs: null };
  }
  const { status, sinceMs } = state;
  if (status === "failed") return { isFailing: true, sinceMs, nextRunMs: null, decidesByMs: null };
  const read = () => inbox.dueAtMs(ctx.key);
  const nextRunMs = isPlain(state)
    ? await ctx.run("read-due", () => inTime(read, { limitMs: databaseTimeoutMs, otherwise: null }))
    : dueAtMs(heartbeat, state);
  const decidesByMs = nextRunMs === null ? null : nextRunMs + decisionMs;
  return { isFailing: false, sinceMs, nextRunMs, decidesByMs };
}
