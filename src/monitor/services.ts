/** Creates all objects and services of the monitor. */

import { createApiCheckObject } from "./check/object.ts";
import type { CheckParts } from "./check/parts.ts";
import { createDrillObject } from "./drills/object.ts";
import { createHeartbeatObject } from "./heartbeat/object.ts";
import type { HeartbeatParts } from "./heartbeat/parts.ts";
import { createDeadlineService, createJobHeartbeats } from "./heartbeat/services.ts";
import { createRunnerRegistry, type Runners } from "./locations/runners.ts";
import { createProbeService } from "./probe/service.ts";
import type { Witness } from "./probe/witness.ts";
import { createRecordsObject } from "./records.ts";

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
