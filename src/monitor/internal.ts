/** What the parts of the monitor call on each other; control lets the capital ones through only. */
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
import type { Absence, OverdueHeartbeat, PassedDeadlines } from "./rules/deadline.ts";
import type { MissedRuns } from "./rules/grid.ts";

type Nothing = Record<string, never>;

const standing = {
  Mute: iface.schemas({
    ...operatorHandlers.Mute,
    description: "Opens no alert until then. One that is open still resolves.",
  }),
  Unmute: iface.schemas(operatorHandlers.Unmute),
  Acknowledge: iface.schemas({
    ...operatorHandlers.Acknowledge,
    description: "Notes who is at work on the open alert.",
  }),
  Maintenance: iface.schemas({
    ...operatorHandlers.Maintenance,
    description: "Adds a window in which no alert opens.",
  }),
  EndMaintenance: iface.schemas({
    ...operatorHandlers.EndMaintenance,
    description: "Drops all windows, also those to come.",
  }),
};

/** What one place found in one run; `atMs`: when it was heard of. */
export type Report = { scheduledAtMs: number; atMs: number; results: CheckResult[] };

export const apiCheckObject = iface.object(
  apiCheckService,
  {
    ...standing,
    Run: iface.shared.schemas({
      ...apiCheckHandlers.Run,
      description: "Runs the check now, beside its grid. It alerts nobody and is not recorded.",
    }),
    ensure: iface.json<Nothing, null>(),
    retire: iface.json<Nothing, null>(),
    tick: iface.json<{ generation: number }, null>(),
    report: iface.json<Report, null>(),
    close: iface.json<{ scheduledAtMs: number }, null>(),
  },
  { description: "An API check; the key is its id." },
);

/**
 * Makes one run of a check where this worker stands. An object, keyed as the check, since Restate then
 * keeps both in one partition; shared, since runs wait for nothing.
 */
export const checkProbe = iface.object("vedette.v1.CheckProbe", {
  run: iface.shared.json<{ scheduledAtMs: number }, null>(),
});

/** `heardAtMs`: of a start or a failure the success before it, which the object may not have heard of; null: none. */
export type PingCall = Ping & { heardAtMs?: number | null };

/** `toldAtMs`: whatever was announced until then is told before this call, or never will be. */
export type AlarmCall = { generation: number; toldAtMs?: number };

/**
 * What was found at `atMs`. `away`: of all, as an earlier version tells it and wants to be told; now each has
 * its own.
 */
export type DeadlinesPassed = Pick<PassedDeadlines, "atMs"> & {
  overdue: (Omit<OverdueHeartbeat, "away"> & Partial<Pick<OverdueHeartbeat, "away">>)[];
  away: Absence | null;
};

export type DeadlinePassed = Pick<PassedDeadlines, "atMs"> &
  Omit<OverdueHeartbeat, "id"> & { rollout: RolloutMark | null };

export const deadlineService = iface.service("vedette.v1.HeartbeatDeadlines", {
  passed: iface.json<DeadlinesPassed, null>(),
});

export const heartbeatObject = iface.object(
  heartbeatService,
  {
    ...standing,
    Register: iface.schemas({
      ...heartbeatHandlers.Register,
      description: "Takes pings under a token of this hash, and waits for them from now on.",
    }),
    ensure: iface.json<Nothing, null>(),
    retire: iface.json<Nothing, null>(),
    ping: iface.json<PingCall, null>(),
    overdue: iface.json<DeadlinePassed, null>(),
    expire: iface.json<AlarmCall, null>(),
  },
  { description: "A heartbeat; the key is its id." },
);

export const runnerRegistry = iface.service(
  runnerService,
  {
    Add: iface.schemas({
      ...runnerHandlers.Add,
      description: "Takes reports from a further place under a token of this hash.",
    }),
    Remove: iface.schemas({
      ...runnerHandlers.Remove,
      description: "Takes no more reports from a place, and waits for none.",
    }),
    List: iface.schemas({ ...runnerHandlers.List, description: "The further places." }),
  },
  { description: "The further places that run checks." },
);

/** What is to be written down of a check. Results first, so that a snapshot never runs ahead of them. */
export type Entry = {
  results?: CheckResult[];
  missed?: MissedRuns;
  transition?: AlertTransition;
  snapshot?: CheckSnapshot;
};

/** Writes beside the checks: a database that is away keeps no alert waiting. Keyed by check id. */
export const checkRecords = iface.object("vedette.v1.CheckRecords", {
  write: iface.json<Entry, null>(),
});
