/** The fleet as a page holds it, changed in place by the events of the stream. Pure but for that. */
import type { FleetColumns, SentinelMark } from "./contract.ts";
import type { FleetChanges, MemberChanges } from "./events.ts";
import { indexesOf } from "./runs.ts";

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
