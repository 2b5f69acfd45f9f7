import type { RolloutMark } from "#alerts/contract.ts";
import type { ReadActor } from "#kernel/actor.ts";
import type { ReadDefinitions } from "#monitor/contract.ts";
import type { CheckRecorder } from "#monitor/records.ts";
import type { Deadlines } from "./deadlines.ts";
import type { Inbox } from "./inbox.ts";

/** The parts of other slices that heartbeats use. */
export type HeartbeatParts = {
  readDefinitions: ReadDefinitions;
  recorder: CheckRecorder;
  /** Returns the caller of an operator's change. */
  readActor: ReadActor;
  /** The active rollout; null: none. */
  readRollout: () => Promise<RolloutMark | null>;
  inbox: Inbox;
  adopt: Deadlines["adopt"];
  /** The address before the token in ping URLs; null: the address of control. */
  pingUrl: string | null;
};
