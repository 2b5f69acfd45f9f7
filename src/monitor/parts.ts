/** What the monitor needs from elsewhere; app/monitor.ts passes it in. */
import type { CheckParts } from "./check/parts.ts";
import type { HeartbeatParts } from "./heartbeat/parts.ts";
import type { Runners } from "./locations/runners.ts";

export type MonitorParts = CheckParts & HeartbeatParts & { runners: Runners };
