/** The events of the stream. Each is of one moment: what a page shows after it never mixes two. */
import type { RecordedRollout, RecordedWave } from "#rollout/history/contract.ts";
import type { FleetColumns, LiveRollout, Runs, SentinelMark } from "./contract.ts";

/** The numbers are not sent: the page counts them by the marks of the fleet (`detailOf`). */
export type SentRollout = RecordedRollout & Pick<LiveRollout, "legal" | "per_second">;

/** Parts that could not be read, with the error; empty when all were read. */
export type Trouble = { part: string; detail: string }[];

/** Everything; null: it was not read yet. */
export type WholeState = {
  rollout: SentRollout | null;
  fleet: FleetColumns | null;
  trouble: Trouble;
};

/** Sentinels that have left the fleet, by their index before; and new ones, by their index now. */
export type MemberChanges = {
  gone: Runs;
  come: Runs;
  ids: string[];
  regions: FleetColumns["regions"];
};

/** Changes of the columns; indexes are those after `members`. A new sentinel has the mark `o` and the wave 0. */
export type FleetChanges = {
  /** Absent: the sentinels are the same ones. */
  members?: MemberChanges;
  /** A mark, a wave, and the sentinels that have both now. */
  groups: [SentinelMark, number, Runs][];
  /** A reason, and the sentinels that have it now; null: they have none any more. */
  reasons: [string | null, Runs][];
};

/** What has changed since the event before; absent: nothing. */
export type Changes = {
  /** Its parts that are others now. */
  rollout?: Partial<SentRollout>;
  /** Single waves that are others now, by their number. */
  waves?: RecordedWave[];
  /** Single messages that are new or others now, by their sequence. */
  messages?: LiveRollout["messages"];
  fleet?: FleetChanges;
  trouble?: Trouble;
};

/** `build`: of the page that the server has. */
export type Beat = { now: string; build: string };

/** A client that connects, or missed too many events, gets the whole state first. */
type LiveEvents = { state: WholeState; changes: Changes; beat: Beat };

/** `id` is what a client that reconnects names as its last event; absent: it stays the one before. */
export type LiveEvent = {
  [Name in keyof LiveEvents]: { name: Name; id?: string; data: LiveEvents[Name] };
}[keyof LiveEvents];
