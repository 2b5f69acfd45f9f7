/** `Heartbeat`: the virtual object that waits for the pings of one job. */
import { implement, type ObjectContext } from "@restatedev/restate-sdk";
import { asTerminalError } from "#kernel/terminal.ts";
import type { Heartbeat, Quiet } from "#monitor/contract.ts";
import { heartbeatObject } from "#monitor/internal.ts";
import type { AlertState } from "#monitor/operations/contract.ts";
import {
  acknowledge,
  type Acknowledgement,
  addMaintenance,
  describeAlertState,
  mute,
  refusal,
} from "#monitor/operations/rules.ts";
import { forEver, soonForgotten } from "#monitor/retry.ts";
import { notQuiet } from "#monitor/rules/quiet.ts";
import { isRemoved } from "#monitor/transitions/end-alert.ts";
import { rearm } from "./alarm.ts";
import type { HeartbeatParts } from "./parts.ts";
import { writeSnapshot } from "./records.ts";
import { moveAlert, retire } from "./retire.ts";
import { readQuiet, readState, writeQuiet, writeState } from "./state.ts";
import { begin, ensure, overdue, ping, wake } from "./steps.ts";

type FindHeartbeat = (ctx: { key: string }) => Heartbeat;

export function createHeartbeatObject(parts: HeartbeatParts) {
  const find = createFind(parts);
  const defined = new Set(parts.definitions.heartbeats.map(({ id }) => id));
  const given = async (ctx: ObjectContext) => {
    const heartbeat = find(ctx);
    await moveAlert(ctx, heartbeat);
    return { heartbeat, parts };
  };
  return implement(heartbeatObject, {
    handlers: {
      ...operatorHandlersOfHeartbeat(find),
      Register: async (ctx, { token_hash }) => {
        const heartbeat = find(ctx);
        const { id } = heartbeat;
        const { replaced } = await ctx.run("save-token", () =>
          parts.inbox.register(id, token_hash),
        );
        await begin(ctx, heartbeat);
        return { check: id, replaced, ping_url: parts.pingUrl };
      },
      ensure: async (ctx) => ensure(ctx, await given(ctx)),
      retire: async (ctx) => ((await isRemoved(ctx, defined)) ? retire(ctx) : null),
      ping: async (ctx, received) => ping(ctx, await given(ctx), received),
      overdue: async (ctx, passed) => overdue(ctx, await given(ctx), passed),
      expire: async (ctx, alarm) => wake(ctx, await given(ctx), alarm),
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

function operatorHandlersOfHeartbeat(find: FindHeartbeat) {
  const quiet = (change: (quiet: Quiet, nowMs: number) => Quiet) => async (ctx: ObjectContext) => {
    const heartbeat = find(ctx);
    const nowMs = await ctx.date.now();
    writeQuiet(ctx, change(await readQuiet(ctx), nowMs));
    // What was quiet until then may alert earlier now.
    await rearm(ctx, heartbeat, nowMs);
    return show(ctx, heartbeat, nowMs);
  };
  return {
    Mute: (ctx: ObjectContext, { until }: { until?: string | undefined }) =>
      quiet((now, nowMs) => mute(now, until, nowMs))(ctx),
    Unmute: quiet((now) => ({ ...now, mutedUntilMs: null })),
    Maintenance: (ctx: ObjectContext, window: { from: string; to: string; reason: string }) =>
      quiet((now, nowMs) => addMaintenance(now, window, nowMs))(ctx),
    EndMaintenance: quiet((now) => ({ ...notQuiet, mutedUntilMs: now.mutedUntilMs })),
    Acknowledge: async (ctx: ObjectContext, request: Acknowledgement) => {
      const heartbeat = find(ctx);
      const nowMs = await ctx.date.now();
      const state = await readState(ctx);
      const alert = acknowledge(state?.alert ?? null, request, nowMs);
      if (state !== null) writeState(ctx, { ...state, alert });
      return show(ctx, heartbeat, nowMs);
    },
  };
}

async function show(ctx: ObjectContext, heartbeat: Heartbeat, nowMs: number): Promise<AlertState> {
  const state = await readState(ctx);
  if (state !== null) await writeSnapshot(ctx, heartbeat, nowMs);
  return describeAlertState(ctx.key, {
    quiet: await readQuiet(ctx),
    alert: state?.alert ?? null,
  });
}
