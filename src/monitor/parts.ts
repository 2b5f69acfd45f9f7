/** What the monitor needs from elsewhere; app/monitor.ts passes it in. */
import type { CheckParts } from "./check/parts.ts";
import type { HeartbeatParts } from "./heartbeat/parts.ts";
import type { Runners } from "./locations/runners.ts";
import type { Witness } from "./probe/witness.ts";

export type MonitorParts = CheckParts &
  HeartbeatParts & {
    runners: Runners;
    /** Absent: every result of this location counts. */
    witness?: Witness;
    /** The address of the API that checks call by a path. */
    baseUrl?: string;
  };
