/** The cap on the sentinels of one region in a wave. Pure. */
import type { FleetMember } from "#fleet/contract.ts";
import { limitOf } from "#rollout/values/limit.ts";
import type { Choice } from "./contract.ts";

/** More waves than that would make the state of a rollout large. */
export const mostWaves = 500;

type CapOf = (region: string) => number;

/**
 * The groups of a wave as one wave, or as several of which none has more of a region than its cap. Then each group
 * has waves of its own, which keeps the order of the groups.
 */
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
