/** Orders the sentinels of a rollout: canaries, then the regions that the request names. Pure. */
import type { FleetMember } from "#fleet/contract.ts";
import type { Choice } from "./contract.ts";
import { selectorOf } from "./leave-out.ts";

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
