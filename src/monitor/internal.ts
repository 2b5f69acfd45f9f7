/** Handlers that the parts of the monitor call on each other. Control forwards only the capitalized ones. */
import { iface } from "@restatedev/restate-sdk";
import type { AlertTransition, RolloutMark } from "#alerts/contract.ts";
import type { CheckResult, CheckSnapshot, Ping } from "./contract.ts";
import {
  apiCheckHandlers,
  apiCheckService,
  heartbeatHandlers,
  heartbeatService,
  operatorHandlers,
  runnerHandlers,
  runnerService,
} from "./operations/contract.ts";
import type { SuppressionSpan } from "./related.ts";
import type { OverdueHeartbeat, PassedDeadlines } from "./rules/deadline.ts";
import type { MissedRuns } from "./rules/grid.ts";
import type { DependencyState } from "./rules/suppression.ts";

type Nothing = Record<string, never>;

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

/** Asked by the objects of what depends on it. `sinceMs`: the tick of their failed run. */
export type FailingRequest = { sinceMs: number };

/** The results of one location in one run; `atMs`: when they were received. */
export type Report = { scheduledAtMs: number; atMs: number; results: CheckResult[] };

export const apiCheckObject = iface.object(
  apiCheckService,
  {
    ...operatorSchemas,
    Run: iface.shared.schemas({
      ...apiCheckHandlers.Run,
      description: "Runs the check now, outside its grid. It alerts nobody and is not recorded.",
    }),
    /** The definition may be new or changed: reads it again, and starts the timer if it is not running. */
    ensure: iface.json<Nothing, null>(),
    /** The check may have been removed: ends its alert and its timer if it was. */
    retire: iface.json<Nothing, null>(),
    tick: iface.json<{ generation: number }, null>(),
    report: iface.json<Report, null>(),
    close: iface.json<{ scheduledAtMs: number }, null>(),
    /** Asks again what a pending alert waits for. */
    reconsider: iface.json<{ generation: number }, null>(),
    tellFailing: iface.shared.json<FailingRequest, DependencyState>(),
  },
  { description: "An API check; the key is its id." },
);

/** Makes one run at this worker's location. Keyed as the check, for one partition; shared, so runs do not queue. */
export const checkProbe = iface.object("vedette.v1.CheckProbe", {
  run: iface.shared.json<{ scheduledAtMs: number }, null>(),
});

/** `heardAtMs`: the success before a start or failure, which the object may not know yet; null: none. */
export type PingCall = Ping & { heardAtMs?: number | null };

/** `toldAtMs`: every ping announced up to this time was sent to the object before this call, or is lost. */
export type AlarmCall = { generation: number; toldAtMs?: number };

export type DeadlinesPassed = Pick<PassedDeadlines, "atMs" | "overdue">;

export type DeadlinePassed = Pick<PassedDeadlines, "atMs"> &
  Omit<OverdueHeartbeat, "id"> & { rollout: RolloutMark | null };

export const deadlineService = iface.service("vedette.v1.HeartbeatDeadlines", {
  passed: iface.json<DeadlinesPassed, null>(),
});

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
    ensure: iface.json<Nothing, null>(),
    /** The definition may have changed. As `ensure`, unless there is no ping URL yet. */
    redefine: iface.json<Nothing, null>(),
    retire: iface.json<Nothing, null>(),
    ping: iface.json<PingCall, null>(),
    overdue: iface.json<DeadlinePassed, null>(),
    expire: iface.json<AlarmCall, null>(),
    tellFailing: iface.shared.json<FailingRequest, DependencyState>(),
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

/** Records of a check to be stored, results first, so that a snapshot is never newer than its results. */
export type Entry = {
  results?: CheckResult[];
  missed?: MissedRuns;
  transition?: AlertTransition;
  /** Suppressions that started or ended. */
  suppressions?: SuppressionSpan[];
  snapshot?: CheckSnapshot;
};

/** Stores records apart from the checks: a database that is down delays no alert. Keyed by check id. */
export const checkRecords = iface.object("vedette.v1.CheckRecords", {
  write: iface.json<Entry, null>(),
});
