/** Handlers that the parts of the monitor call on each other. Control forwards only the capitalized ones. */
import { iface } from "@restatedev/restate-sdk";
import { untilDone } from "#kernel/restate.ts";
import {
  apiCheckHandlers,
  apiCheckService,
  heartbeatHandlers,
  heartbeatService,
  operatorHandlers,
  runnerHandlers,
  runnerService,
} from "#monitor/operations/contract.ts";
import type { CheckResult } from "./contract.ts";

const operatorSchemas = {
  Mute: iface.schemas({
    ...operatorHandlers.Mute,
    description: "Opens no alert until then. One that is open still resolves.",
  }),
  Unmute: iface.schemas(operatorHandlers.Unmute),
  Acknowledge: iface.schemas({
    ...operatorHandlers.Acknowledge,
    description: "Records who is working on the open alert.",
  }),
  Maintenance: iface.schemas({
    ...operatorHandlers.Maintenance,
    description: "Adds a window in which no alert opens.",
  }),
  EndMaintenance: iface.schemas({
    ...operatorHandlers.EndMaintenance,
    description: "Deletes all windows, including future ones.",
  }),
};

export const apiCheckObject = iface.object(
  apiCheckService,
  {
    ...operatorSchemas,
    Run: iface.shared.schemas({
      ...apiCheckHandlers.Run,
      description: "Runs the check now, outside its grid. It alerts nobody and is not recorded.",
    }),
  },
  { description: "An API check; the key is its id." },
);

/** The results of one run that a location has reported. */
export type Report = { scheduledAtMs: number; results: CheckResult[] };

/** A timed job of our own ended well at `atMs`. */
export type JobSuccess = { job: string; atMs: number };

export const jobHeartbeats = iface.service("vedette.v1.JobHeartbeats", {
  succeeded: iface.json<JobSuccess, null>(),
});

export const heartbeatObject = iface.object(
  heartbeatService,
  {
    ...operatorSchemas,
    Register: iface.schemas({
      ...heartbeatHandlers.Register,
      description: "Accepts pings with a token of this hash, and expects them from now on.",
    }),
  },
  { description: "A heartbeat; the key is its id." },
);

export const runnerRegistry = iface.service(
  runnerService,
  {
    Add: iface.schemas({
      ...runnerHandlers.Add,
      description: "Accepts reports from a further location with a token of this hash.",
    }),
    Remove: iface.schemas({
      ...runnerHandlers.Remove,
      description: "Accepts no more reports from a location, and expects none.",
    }),
    List: iface.schemas({ ...runnerHandlers.List, description: "The further locations." }),
  },
  { description: "The further locations that run checks." },
);

/** The monitor retries without a limit. The longer backoff is for thousands of checks that retry at once. */
export const forEver = { ...untilDone, initialInterval: 200, maxInterval: 15_000 };
