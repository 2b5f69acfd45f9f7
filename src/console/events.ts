/** The events of the stream, and how a page applies them. Each is of one moment: a page never mixes two. */
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

/** The changes since the event before; what is absent has not changed. */
export type Changes = {
  /** The rollout's parts that are others now. */
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

/** The fleet as a page holds it, changed in place by the events. */
export type FleetStore = {
  ids: string[];
  regions: FleetColumns["regions"];
  waves: number[];
  marks: SentinelMark[];
  reasons: Map<number, string>;
};

export function toStore({ ids, regions, waves, marks, reasons }: FleetColumns): FleetStore {
  const all = reasons.flatMap(([why, runs]) => indexesOf(runs).map((i) => [i, why] as const));
  return {
    ids,
    regions,
    waves: [...waves],
    marks: [...marks] as SentinelMark[],
    reasons: new Map(all),
  };
}

/** Applies all changes but those of `members`. Returns the sentinels that are others now. */
export function applyCells(
  store: FleetStore,
  { groups, reasons }: Pick<FleetChanges, "groups" | "reasons">,
): number[] {
  const touched: number[] = [];
  for (const [mark, wave, runs] of groups) {
    for (const index of indexesOf(runs)) {
      store.marks[index] = mark;
      store.waves[index] = wave;
      touched.push(index);
    }
  }
  for (const [reason, runs] of reasons) {
    for (const index of indexesOf(runs)) {
      if (reason === null) store.reasons.delete(index);
      else store.reasons.set(index, reason);
      touched.push(index);
    }
  }
  return touched;
}

/** The fleet with other sentinels: those that stay keep what is known of them. */
export function withMembers(store: FleetStore, members: MemberChanges): FleetStore {
  const gone = new Set(indexesOf(members.gone));
  const kept = [...store.ids.keys()].filter((index) => !gone.has(index)).values();
  const come = new Map(indexesOf(members.come).map((index, n) => [index, members.ids[n] ?? ""]));
  const size = store.ids.length - gone.size + come.size;
  const next: FleetStore = {
    ids: [],
    regions: members.regions,
    waves: [],
    marks: [],
    reasons: new Map(),
  };
  for (let index = 0; index < size; index += 1) {
    const id = come.get(index);
    if (id === undefined) copyCell(store, kept.next().value ?? 0, next);
    else addCell(next, { id, mark: "o", wave: 0 });
  }
  return next;
}

function copyCell(from: FleetStore, index: number, to: FleetStore): void {
  const reason = from.reasons.get(index);
  if (reason !== undefined) to.reasons.set(to.ids.length, reason);
  const { [index]: id = "" } = from.ids;
  addCell(to, { id, mark: from.marks[index] ?? "o", wave: from.waves[index] ?? 0 });
}

type Cell = { id: string; mark: SentinelMark; wave: number };

function addCell({ ids, marks, waves }: FleetStore, { id, mark, wave }: Cell): void {
  ids.push(id);
  marks.push(mark);
  waves.push(wave);
}

/** Rising indexes as run lengths: alternately how many to skip and how many to take. */
export function toRuns(indexes: readonly number[]): Runs {
  const runs: Runs = [];
  let next = 0;
  for (const index of indexes) {
    if (index === next && runs.length > 0) runs.push((runs.pop() ?? 0) + 1);
    else runs.push(index - next, 1);
    next = index + 1;
  }
  return runs;
}

function indexesOf(runs: Runs): number[] {
  const indexes: number[] = [];
  let next = 0;
  for (const [turn, length] of runs.entries()) {
    const end = next + length;
    if (turn % 2 === 1) for (let index = next; index < end; index += 1) indexes.push(index);
    next = end;
  }
  return indexes;
}

/** The rollout after these changes; the same object when there are none for it. */
export function changeRollout(
  before: SentRollout,
  { rollout, waves = [], messages = [] }: Changes,
): SentRollout {
  if (rollout === undefined && waves.length === 0 && messages.length === 0) return before;
  const base = { ...before, ...rollout };
  const newWaves = new Map(waves.map((wave) => [wave.wave, wave]));
  const newMessages = new Map(messages.map((message) => [message.sequence, message]));
  const kept = base.messages.filter(({ sequence }) => !newMessages.has(sequence));
  return {
    ...base,
    waves: base.waves.map((wave) => newWaves.get(wave.wave) ?? wave),
    messages: [...kept, ...newMessages.values()].sort((a, b) => b.sequence - a.sequence),
  };
}
