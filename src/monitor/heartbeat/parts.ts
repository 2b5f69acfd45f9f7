import type { RolloutMark } from "#alerts/contract.ts";
import type { ReadActor } from "#kernel/actor.ts";
import type { ReadDefinitions } from "#monitor/contract.ts";
import type { CheckRecorder } from "#monitor/records.ts";
import type { Deadlines } from "./deadlines.ts";
import type { Inbox } from "./inbox.ts";

/** What heartbeats need from other slices. */
export type HeartbeatParts = {
  readDefinitions: ReadDefinitions;
  recorder: CheckRecorder;
  /** Who calls, for what operators change. */
  readActor: ReadActor;
  /** The active rollout; null: none. */
  readRollout: () => Promise<RolloutMark | null>;
  inbox: Inbox;
  /** As of `Deadlines`. */
  adopt: Deadlines["adopt"];
  /** What precedes the token in ping URLs; null: the address of control. */
  pingUrl: string | null;
};
