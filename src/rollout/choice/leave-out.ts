/** Finds the sentinels that a rollout leaves out, because of pins and its own exclusions. Pure. */
import type { FleetMember, Labels } from "#fleet/contract.ts";
import { limitOf } from "#rollout/values-contract.ts";
import type { Choice, Pin, Selector } from "./contract.ts";

// The cap on the sentinels of one region in a wave. Pure.

/** More waves than that would make the state of a rollout large. */
export const mostWaves = 500;

type CapOf = (region: string) => number;

/** The groups as one wave, or several within each region's cap: then each group has waves of its own. */
export function splitByCap(groups: readonly FleetMember[][], capOf: CapOf): FleetMember[][] {
  const whole = groups.flat();
  if (partsOf(whole, capOf) === 1) return [whole];
  return groups.flatMap((group) => splitGroup(group, partsOf(group, capOf)));
}

function partsOf(members: readonly FleetMember[], capOf: CapOf): number {
  const counts = [...countByRegion(members)];
  return counts.reduce((most, [region, n]) => Math.max(most, Math.ceil(n / capOf(region))), 1);
}

/** Every part has every region in proportion. */
function splitGroup(members: readonly FleetMember[], parts: number): FleetMember[][] {
  const sizes = countByRegion(members);
  const split: FleetMember[][] = Array.from({ length: parts }, () => []);
  const seen = new Map<string, number>();
  for (const member of members) {
    const { region } = member;
    const index = seen.get(region) ?? 0;
    seen.set(region, index + 1);
    split[Math.floor((index * parts) / (sizes.get(region) ?? 1))]?.push(member);
  }
  return split;
}

/** The cap of each region, of the sentinels that the fleet has there. */
export function capsOf(
  fleet: readonly FleetMember[],
  { max_per_region: limit }: Pick<Choice, "max_per_region">,
): CapOf {
  if (limit === undefined) return () => Number.POSITIVE_INFINITY;
  const sizes = countByRegion(fleet);
  return (region) => Math.max(1, limitOf(limit, sizes.get(region) ?? 0));
}

function countByRegion(members: readonly FleetMember[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { region } of members) counts.set(region, (counts.get(region) ?? 0) + 1);
  return counts;
}

/** `by`: the pin's id; null: the request excludes it. */
export type LeftOut = { id: string; by: string | null; reason: string };

/** Returns the reason in the words of history. */
export function reasonOf({ by, reason }: Omit<LeftOut, "id">): string {
  const who = by === null ? "excluded" : `pin ${by}`;
  return reason === "" ? who : `${who}: ${reason}`;
}

type Rule = Omit<LeftOut, "id"> & { selects: (member: FleetMember) => boolean };

/** Pins come first: they say more. A pin whose end has come holds no longer. */
export function leaveOut(
  fleet: readonly FleetMember[],
  {
    exclude = [],
    only,
    pins,
    nowMs,
  }: Pick<Choice, "exclude" | "only"> & { pins: readonly Pin[]; nowMs: number },
): { chosen: FleetMember[]; leftOut: LeftOut[] } {
  const holding = pins.filter(({ ends }) => ends === undefined || nowMs < Date.parse(ends));
  const isAskedFor = only === undefined ? () => true : selectorOf(only);
  const rules: Rule[] = [
    ...holding.map((pin) => ({ by: pin.id, reason: pin.reason, selects: selectorOf(pin) })),
    ...exclude.map((one) => ({ by: null, reason: one.reason ?? "", selects: selectorOf(one) })),
    { by: null, reason: "only others are asked for", selects: (member) => !isAskedFor(member) },
  ];
  const chosen: FleetMember[] = [];
  const leftOut: LeftOut[] = [];
  for (const member of fleet) {
    const rule = rules.find(({ selects }) => selects(member));
    if (rule === undefined) chosen.push(member);
    else leftOut.push({ id: member.id, by: rule.by, reason: rule.reason });
  }
  return { chosen, leftOut };
}

/** Returns a function that is true for a sentinel that matches each field of the selector. */
export function selectorOf(selector: Selector): (member: FleetMember) => boolean {
  const ids = selector.ids && new Set(selector.ids);
  const regions = selector.regions && new Set(selector.regions);
  const labels = Object.entries(selector.labels ?? {});
  return (member) =>
    (ids?.has(member.id) ?? true) &&
    (regions?.has(member.region) ?? true) &&
    hasLabels(member.labels ?? {}, labels);
}

function hasLabels(labels: Labels, wanted: readonly [string, string][]): boolean {
  return wanted.every(([name, value]) => Object.hasOwn(labels, name) && labels[name] === value);
}

/** Groups that are taken one after the other; in each every region comes in proportion. */
export function inOrder(
  members: readonly FleetMember[],
  { canary_labels, regions = [] }: Pick<Choice, "canary_labels" | "regions">,
): FleetMember[][] {
  const isCanary =
    canary_labels === undefined ? () => false : selectorOf({ labels: canary_labels });
  const rankOf = new Map(regions.map((region, i) => [region, i]));
  const groups = Map.groupBy(members, (member) => {
    const rank = rankOf.get(member.region) ?? regions.length;
    return isCanary(member) ? rank : rank + regions.length + 1;
  });
  return [...groups].sort(([a], [b]) => a - b).map(([, group]) => group);
}

/** Distributes `count` over waves with so many free seats, the first ones first. */
export function seatsOf(count: number, left: readonly number[]): number[] {
  let rest = count;
  return left.map((free) => {
    const seats = Math.min(free, rest);
    rest -= seats;
    return seats;
  });
}
