/** Creates all objects and services of the monitor. */
import { createApiCheckObject } from "./check/object.ts";
import { createDrillObject } from "./drills/object.ts";
import { createDeadlineService } from "./heartbeat/deadline-service.ts";
import { createJobHeartbeats } from "./heartbeat/job-service.ts";
import { createHeartbeatObject } from "./heartbeat/object.ts";
import { createRunnerRegistry } from "./locations/service.ts";
import type { MonitorParts } from "./parts.ts";
import { createProbeService } from "./probe/service.ts";
import { createRecordsObject } from "./records/service.ts";

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
