/** Creates all objects and services of the monitor. */
import { implement } from "@restatedev/restate-sdk";
import { createApiCheckObject } from "#monitor/check/object.ts";
import type { CheckParts } from "#monitor/check/parts.ts";
import { createDrillObject } from "#monitor/drills/object.ts";
import { createHeartbeatObject } from "#monitor/heartbeat/object.ts";
import type { HeartbeatParts } from "#monitor/heartbeat/parts.ts";
import { createRunnerRegistry, type Runners } from "#monitor/locations/runners.ts";
import { createProbeService } from "#monitor/probe/service.ts";
import type { Witness } from "#monitor/probe/witness.ts";
import { findRollout } from "#monitor/transitions/hand-over.ts";
import { deadlineService, heartbeatObject, jobHeartbeats } from "./internal.ts";
import { createRecordsObject } from "./records.ts";
import { forEver, soonForgotten } from "./retry.ts";

// Services that call the objects of several heartbeats for one call from outside.

/** Calls each heartbeat whose deadline has passed. */
function createDeadlineService(parts: HeartbeatParts) {
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
function createJobHeartbeats({ readDefinitions, adopt }: HeartbeatParts) {
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

export function createMonitorServices(parts: MonitorParts) {
  return [
    createApiCheckObject(parts),
    createProbeService(parts),
    createHeartbeatObject(parts),
    createDeadlineService(parts),
    createDrillObject(parts),
    createJobHeartbeats(parts),
    createRecordsObject(parts.recorder),
    createRunnerRegistry(parts),
  ];
}

export type MonitorParts = CheckParts &
  HeartbeatParts & {
    runners: Runners;
    /** Absent: every result of this location counts. */
    witness?: Witness;
    /** The address of the API that checks call by a path. */
    baseUrl?: string;
  };
