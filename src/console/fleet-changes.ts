/** The difference between two pictures of a fleet. Pure. */
import { isDeepStrictEqual } from "node:util";
import type { FleetColumns, SentinelMark } from "./contract.ts";
import type { FleetChanges, MemberChanges } from "./events.ts";
import { type FleetStore, toStore, withMembers } from "./fleet-store.ts";
import { toRuns } from "./runs.ts";

/**
 * The changes from `before` to `after`; undefined: nothing has changed; null: the order of the sentinels has, so that
 * all columns must be sent.
 */
export function diffColumns(
  before: FleetColumns,
  after: FleetColumns,
): FleetChanges | null | undefined {
  const members = hasSameSentinels(before, after) ? undefined : diffMembers(before, after);
  if (members === null) return null;
  const [old, now] = [toStore(before), toStore(after)];
  const base = members === undefined ? old : withMembers(old, members);
  const groups = diffCells(base, now);
  const reasons = diffReasons(base.reasons, now.reasons);
  if (members === undefined && groups.length === 0 && reasons.length === 0) return undefined;
  return { ...(members !== undefined && { members }), groups, reasons };
}

/** All that have the same mark and wave now are one group: thousands of sentinels change between two polls. */
function diffCells(before: FleetStore, after: FleetStore): FleetChanges["groups"] {
  const changed = [...after.ids.keys()].filter(
    (index) =>
      after.marks[index] !== before.marks[index] || after.waves[index] !== before.waves[index],
  );
  const groups = Map.groupBy(changed, (index) => `${after.marks[index]}${after.waves[index]}`);
  return [...groups.values()].map((indexes) => {
    const [first = 0] = indexes;
    return [after.marks[first] as SentinelMark, after.waves[first] ?? 0, toRuns(indexes)];
  });
}

function diffReasons(
  before: FleetStore["reasons"],
  after: FleetStore["reasons"],
): FleetChanges["reasons"] {
  const ended = [...before.keys()].filter((index) => !after.has(index));
  const changed = [...after.keys()].filter((index) => before.get(index) !== after.get(index));
  const rising = [...ended, ...changed].sort((a, b) => a - b);
  const groups = Map.groupBy(rising, (index) => after.get(index) ?? null);
  return [...groups].map(([reason, indexes]) => [reason, toRuns(indexes)]);
}

/** Also compares the regions: renaming one may leave the order of the sentinels unchanged. */
function hasSameSentinels(before: FleetColumns, after: FleetColumns): boolean {
  const isSame = (name: string, index: number) => name === before.ids[index];
  if (before.ids.length !== after.ids.length || !after.ids.every(isSame)) return false;
  return isDeepStrictEqual(before.regions, after.regions);
}

/** A sentinel that is in another region now has gone and come. null: those that stay are in another order. */
function diffMembers(before: FleetColumns, after: FleetColumns): MemberChanges | null {
  const places = new Map(placed(before).map((place, index) => [place, index]));
  const now = placed(after);
  const kept = now.map((place) => places.get(place)).filter((index) => index !== undefined);
  if (kept.some((index, n) => n > 0 && index < (kept[n - 1] ?? 0))) return null;
  const stays = new Set(kept);
  const come = [...now.keys()].filter((index) => !places.has(now[index] ?? ""));
  return {
    gone: toRuns([...before.ids.keys()].filter((index) => !stays.has(index))),
    come: toRuns(come),
    ids: come.map((index) => after.ids[index] ?? ""),
    regions: after.regions,
  };
}

/** Each sentinel's region and id. */
function placed({ ids, regions }: FleetColumns): string[] {
  const names = regions.flatMap(({ name, size }) => Array.from({ length: size }, () => name));
  return ids.map((id, index) => `${names[index]}\n${id}`);
}
