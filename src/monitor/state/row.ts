/** The state of a check or heartbeat between two decisions: a row of `check_states`, in JSON. Times are Unix ms. */

import type { RolloutMark } from "#alerts/contract.ts";
import type { QueuedOrder } from "#alerts/outbox.ts";
import type {
  ApiCheck,
  CheckResult,
  CheckState,
  Heartbeat,
  HeartbeatState,
  Quiet,
} from "#monitor/contract.ts";
import type { Suppression } from "#monitor/related.ts";
import type { Records } from "#monitor/results/record.ts";
import type { Grid } from "#monitor/rules/grid.ts";
import type { Schedule } from "#monitor/rules/occurrences.ts";
import { notQuiet } from "#monitor/rules/quiet.ts";
import type { DependencyState } from "#monitor/rules/suppression.ts";
import { newCheckState } from "#monitor/rules/verdict.ts";
import type { Addressee } from "./addressee.ts";

/** A run that still waits for reports. */
export type OpenRun = {
  scheduledAtMs: number;
  expected: string[];
  results: CheckResult[];
  /** When it is closed without the reports that lack; null: by the next tick. */
  closesAtMs: number | null;
  /** When it is made again here if nothing was reported, since its process was killed; null: never (again). */
  retryAtMs: number | null;
};

type Kept = {
  quiet: Quiet;
  /** Whom the failure of the open alert was sent to; null: none is open, or it was sent to nobody. */
  addressee: Addressee | null;
  /** The suppression that was recorded last, and lasts; null: none. */
  recorded: Suppression | null;
};

export type ApiRow = Kept & {
  kind: "api";
  state: CheckState;
  /** null: the check does not run. */
  timer: { grid: Grid; dueMs: number } | null;
  run: OpenRun | null;
  /** Results of runs that have not begun. */
  early: CheckResult[];
};

export type HeartbeatRow = Kept & {
  kind: "heartbeat";
  /** null: nobody pings it yet, and so it has no deadline. */
  state: HeartbeatState | null;
  /** The definition that the state was decided by; null: none was yet. */
  defined: (Schedule & Pick<Heartbeat, "job"> & { isDrill: boolean }) | null;
};

export type Row = ApiRow | HeartbeatRow;

const nothingKept: Kept = { quiet: notQuiet, addressee: null, recorded: null };

export function newApiRow(nowMs: number): ApiRow {
  return {
    ...nothingKept,
    kind: "api",
    state: newCheckState(nowMs),
    timer: null,
    run: null,
    early: [],
  };
}

export function newHeartbeatRow(): HeartbeatRow {
  return { ...nothingKept, kind: "heartbeat", state: null, defined: null };
}

/** The actions that a decision asks for: all but the last are written in the transaction of the row. */
export type Effects = Records & {
  orders: QueuedOrder[];
  /** Queues whose channel was corrected: what waits in them is due. */
  goOn: string[];
  /** Runs to make at this location, once the rows are written. */
  probes: { check: ApiCheck; scheduledAtMs: number }[];
};

export function newEffects(): Effects {
  return {
    results: [],
    missed: [],
    transitions: [],
    suppressions: [],
    orders: [],
    goOn: [],
    probes: [],
  };
}

/** A decided row, and when to decide it next; null: by a report, a ping, an operator or a new definition alone. */
export type Decided<Of extends Row> = { row: Of; wakeAtMs: number | null };

/** The facts that all decisions of one moment share. */
export type Moment = {
  nowMs: number;
  /** The rollout in progress; null: none. undefined: not read yet, so that an alert that opens is decided again. */
  rollout: RolloutMark | null | undefined;
  /** The states of what the check depends on. */
  dependencyOf: (id: string, sinceMs: number) => DependencyState | null;
  effects: Effects;
};
