import type { RolloutMark } from "#alerts/contract.ts";
import type { Definitions } from "#monitor/contract.ts";
import type { CheckRecorder } from "#monitor/records/recorder.ts";
import type { Inbox } from "./inbox.ts";

/** What heartbeats need of others. */
export type HeartbeatParts = {
  definitions: Pick<Definitions, "heartbeats">;
  recorder: CheckRecorder;
  /** The rollout that is under way; null: none. */
  readRollout: () => Promise<RolloutMark | null>;
  inbox: Inbox;
  /** Before the token in ping URLs; null: the address of control. */
  pingUrl: string | null;
};
