/** Creates all objects and services of the monitor. */
import { implement } from "@restatedev/restate-sdk";
import { createDrillObject, type DrillParts } from "#monitor/drills/object.ts";
import type { Inbox } from "#monitor/heartbeat/inbox.ts";
import { createRunnerRegistry, type Runners } from "#monitor/locations/runners.ts";
import {
  type CheckObjectParts,
  createApiCheckObject,
  createHeartbeatObject,
} from "./check-objects.ts";
import type { ReadDefinitions } from "./contract.ts";
import { forEver, jobHeartbeats } from "./internal.ts";

type MonitorParts = CheckObjectParts &
  DrillParts & { inbox: Inbox; runners: Runners; location: string };

export function createMonitorServices(parts: MonitorParts) {
  return [
    createApiCheckObject(parts),
    createHeartbeatObject(parts),
    createDrillObject(parts),
    createJobHeartbeats({ ...parts, pingOurs: parts.inbox.pingOurs }),
    createRunnerRegistry(parts),
  ];
}

type Parts = { readDefinitions: ReadDefinitions; pingOurs: Inbox["pingOurs"] };

/** Pings the heartbeats of a timed job of this program that ran well. */
function createJobHeartbeats({ readDefinitions, pingOurs }: Parts) {
  return implement(jobHeartbeats, {
    handlers: {
      succeeded: async (ctx, { job, atMs }) => {
        await ctx.run("ping-heartbeats", async () => {
          const { heartbeats } = await readDefinitions({ isFresh: true });
          const pinged = heartbeats.filter((heartbeat) => heartbeat.job === job);
          for (const { id } of pinged) await pingOurs(id, { kind: "success", atMs });
        });
        return null;
      },
    },
    options: { journalRetention: 0, retryPolicy: forEver },
  });
}
