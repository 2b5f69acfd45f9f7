/** What the monitor needs of others; app/monitor.ts passes it in. */

import type { Missed } from "./check/grid.ts";
import type {
  AlertTransition,
  CheckResult,
  CheckSnapshot,
  Definitions,
  RolloutMark,
} from "./contract.ts";
import type { Inbox } from "./heartbeat/inbox.ts";
import type { Runners } from "./locations/runners.ts";
import type { RunCheck } from "./probe/run-check.ts";

/** Keeps what was found. Every write may come twice. */
export type Recorder = {
  results: (results: readonly CheckResult[]) => Promise<void>;
  missed: (missed: Missed & { checkId: string }) => Promise<void>;
  transition: (transition: AlertTransition) => Promise<void>;
  snapshot: (snapshot: CheckSnapshot) => Promise<void>;
};

export type MonitorParts = {
  definitions: Pick<Definitions, "apiChecks" | "heartbeats">;
  recorder: Recorder;
  /** The rollout that is under way; null: none. */
  readRollout: () => Promise<RolloutMark | null>;
  /** Of a run's locations, as in the settings. */
  failedAtPercent: number;
  /** Where this program's own runs take place. */
  location: string;
  runCheck: RunCheck;
  /** The API checks that have what they need; the others are paused. */
  activeChecks: ReadonlySet<string>;
  runners: Runners;
  inbox: Inbox;
  /** Before the token in ping URLs; null: the address of control. */
  pingUrl: string | null;
};
