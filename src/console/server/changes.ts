/** The difference between two states of the stream, and between two pictures of a fleet. Pure. */
import { isDeepStrictEqual } from "node:util";
import type { FleetColumns, SentinelMark } from "#console/contract.ts";
import {
  type Changes,
  type FleetChanges,
  type FleetStore,
  type MemberChanges,
  type SentRollout,
  toRuns,
  toStore,
  type WholeState,
  withMembers,
} from "#console/events.ts";

/** undefined: nothing has changed; null: only the whole state can say what. */
export function diffStates(before: WholeState, after: WholeState): Changes | null | undefined {
  if (isDeepStrictEqual(before, after)) return undefined;
  if (before.rollout === null || after.rollout === null) return null;
  if (before.fleet === null || after.fleet === null) return null;
  const fleet = diffColumns(before.fleet, after.fleet);
  if (fleet === null) return null;
  const changes: Changes = {
    ...diffRollout(before.rollout, after.rollout),
    ...(fleet !== undefined && { fleet }),
    ...(!isDeepStrictEqual(before.trouble, after.trouble) && { trouble: after.trouble }),
  };
  return Object.keys(changes).length === 0 ? undefined : changes;
}

function diffRollout(before: SentRollout, after: SentRollout): Omit<Changes, "fleet" | "trouble"> {
  const changed = changedParts(before, after);
  const isSame = before.status.rollout_id === after.status.rollout_id;
  const lists = isSame ? { ...changedWaves(before, after), ...changedMessages(before, after) } : {};
  const { waves, messages, ...others } = changed;
  const rollout = {
    ...others,
    ...(waves !== undefined && lists.waves === undefined && { waves }),
    ...(messages !== undefined && lists.messages === undefined && { messages }),
  };
  return { ...(Object.keys(rollout).length > 0 && { rollout }), ...lists };
}

/** Every part of a rollout is always present, so no part ever has to be removed. */
function changedParts(before: SentRollout, after: SentRollout): Partial<SentRollout> {
  const known = new Map(Object.entries(steady(before)));
  const changed = Object.entries(steady(after))
    .filter(([name, part]) => !isDeepStrictEqual(known.get(name), part))
    .map(([name]) => name);
  const names = new Set(changed);
  return Object.fromEntries(Object.entries(after).filter(([name]) => names.has(name)));
}

/** Leaves out what changes with every result: the page counts it by the marks. */
function steady({ status, ...others }: SentRollout): SentRollout {
  return {
    ...others,
    status: { ...status, succeeded: 0, failed: 0, in_flight: 0, updated_at: null },
  };
}

/** Single waves, if there are as many as before. */
function changedWaves(before: SentRollout, after: SentRollout): Pick<Changes, "waves"> {
  if (before.waves.length !== after.waves.length) return {};
  const waves = after.waves.filter((wave, i) => !isDeepStrictEqual(wave, before.waves[i]));
  return waves.length === 0 ? {} : { waves };
}

/** Single messages, if none has gone. */
function changedMessages(before: SentRollout, after: SentRollout): Pick<Changes, "messages"> {
  const known = new Map(before.messages.map((message) => [message.sequence, message]));
  const messages = after.messages.filter(
    (message) => !isDeepStrictEqual(message, known.get(message.sequence)),
  );
  const fresh = messages.filter(({ sequence }) => !known.has(sequence)).length;
  const hasGone = before.messages.length + fresh !== after.messages.length;
  return messages.length === 0 || hasGone ? {} : { messages };
}

/** undefined: nothing has changed; null: the order of the sentinels has, so that all columns must be sent. */
function diffColumns(before: FleetColumns, after: FleetColumns): FleetChanges | null | undefined {
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
