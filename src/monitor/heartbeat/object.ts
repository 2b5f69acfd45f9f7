/** `Heartbeat`: the virtual object that waits for the pings of one job. */
import { implement, type ObjectContext } from "@restatedev/restate-sdk";
import { nameOf } from "#kernel/actor.ts";
import { asTerminalError } from "#kernel/terminal.ts";
import type { Heartbeat } from "#monitor/contract.ts";
import { heartbeatObject } from "#monitor/internal.ts";
import { createOperatorHandlers, type OperatedCheck } from "#monitor/operations/handlers.ts";
import { refusal } from "#monitor/operations/rules.ts";
import { forEver, soonForgotten } from "#monitor/retry.ts";
import { isRemoved } from "#monitor/transitions/end-alert.ts";
import { rearm } from "./alarm.ts";
import { begin } from "./commit.ts";
import type { HeartbeatParts } from "./parts.ts";
import { ensure, overdue, wake } from "./pass-deadline.ts";
import { writeSnapshot } from "./records.ts";
import { moveAlert, retire } from "./retire.ts";
import { readState, writeState } from "./state.ts";
import { ping } from "./take-ping.ts";

type FindHeartbeat = (ctx: { key: string }) => Heartbeat;

export function createHeartbeatObject(parts: HeartbeatParts) {
  const find = createFind(parts);
  const { readActor } = parts;
  const defined = new Set(parts.definitions.heartbeats.map(({ id }) => id));
  const prepare = async (ctx: ObjectContext) => {
    const heartbeat = find(ctx);
    await moveAlert(ctx, heartbeat);
    return { heartbeat, parts };
  };
  return implement(heartbeatObject, {
    handlers: {
      ...createOperatorHandlers({ find: (ctx) => operatedOf(ctx, find(ctx)), readActor }),
      Register: async (ctx, { token_hash }) => {
        const heartbeat = find(ctx);
        const { id } = heartbeat;
        const by = nameOf(readActor(ctx));
        const { replaced } = await ctx.run("save-token", () =>
          parts.inbox.register(id, { token: token_hash, by }),
        );
        ctx.console.info("heartbeat registered", { check: id, by, replaced });
        await begin(ctx, heartbeat);
        return { check: id, replaced, ping_url: parts.pingUrl };
      },
      ensure: async (ctx) => ensure(ctx, await prepare(ctx)),
      retire: async (ctx) => ((await isRemoved(ctx, defined)) ? retire(ctx) : null),
      ping: async (ctx, received) => ping(ctx, await prepare(ctx), received),
      overdue: async (ctx, passed) => overdue(ctx, await prepare(ctx), passed),
      expire: async (ctx, alarm) => wake(ctx, await prepare(ctx), alarm),
    },
    options: {
      journalRetention: 0,
      retryPolicy: forEver,
      asTerminalError,
      handlers: {
        overdue: { ingressPrivate: true },
        expire: { ingressPrivate: true },
        ping: { idempotencyRetention: soonForgotten },
      },
    },
  });
}

function createFind({ definitions }: HeartbeatParts): FindHeartbeat {
  const heartbeats = new Map(definitions.heartbeats.map((heartbeat) => [heartbeat.id, heartbeat]));
  return ({ key }) => {
    const heartbeat = heartbeats.get(key);
    if (heartbeat === undefined) {
      throw refusal(404, "unknown_check", `there is no heartbeat ${key}`);
    }
    return heartbeat;
  };
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
