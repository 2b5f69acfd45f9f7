/** Services that call the objects of several heartbeats for one call from outside. */
import { implement } from "@restatedev/restate-sdk";
import { deadlineService, heartbeatObject, jobHeartbeats } from "#monitor/internal.ts";
import { forEver, soonForgotten } from "#monitor/retry.ts";
import { findRollout } from "#monitor/transitions/hand-over.ts";
import type { HeartbeatParts } from "./parts.ts";

/** Calls each heartbeat whose deadline has passed. */
export function createDeadlineService(parts: HeartbeatParts) {
  return implement(deadlineService, {
    handlers: {
      passed: async (ctx, { overdue, atMs }) => {
        // Read once for all: an alert names the active rollout.
        const rollout = await findRollout(ctx, parts.readRollout);
        for (const { id, lastPingAtMs, away } of overdue) {
          ctx.sendClient(heartbeatObject, id).overdue({ lastPingAtMs, atMs, away, rollout });
        }
        return null;
      },
    },
    options: {
      journalRetention: 0,
      idempotencyRetention: soonForgotten,
      retryPolicy: forEver,
    },
  });
}

/** Pings the heartbeats of a timed job of our own that ran well: a call for each, which Restate delivers for certain. */
export function createJobHeartbeats({ readDefinitions, adopt }: HeartbeatParts) {
  return implement(jobHeartbeats, {
    handlers: {
      succeeded: async (ctx, { job, atMs }) => {
        const ids = await ctx.run("find-heartbeats", async () => {
          const { heartbeats } = await readDefinitions({ isFresh: true });
          const pinged = heartbeats.filter((heartbeat) => heartbeat.job === job);
          // A Postgres that was restored may have lost their rows.
          await adopt(pinged);
          return pinged.map(({ id }) => id);
        });
        for (const id of ids) ctx.sendClient(heartbeatObject, id).ping({ kind: "success", atMs });
        return null;
      },
    },
    options: { journalRetention: 0, retryPolicy: forEver },
  });
}
