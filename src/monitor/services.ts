/** Creates all objects and services of the monitor. */
import {
  type CheckObjectParts,
  createApiCheckObject,
  createHeartbeatObject,
} from "./check-objects.ts";
import { createDrillObject, type DrillParts } from "./drills/object.ts";
import type { Inbox } from "./heartbeat/inbox.ts";
import { createJobHeartbeats } from "./heartbeat/job-heartbeats.ts";
import { createRunnerRegistry, type Runners } from "./locations/runners.ts";

export type MonitorParts = CheckObjectParts &
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
