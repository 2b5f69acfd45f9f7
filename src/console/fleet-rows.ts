/** Joins the sentinels of a fleet with the members of a rollout. Pure. */
import type { Member } from "#rollout/history/contract.ts";
import type { FleetRow } from "./fleet-columns.ts";

export type Part = Pick<FleetRow, "wave" | "outcome" | "outcome_reason" | "failure">;

/** A sentinel as the fleet has it now. */
export type MapRow = Omit<FleetRow, keyof Part>;

/**
 * The fleet as it is, ordered by region and id. Members that the fleet does not have any more are in the region
 * "gone": without them the numbers of the rollout would not add up.
 */
export function joinLive(fleet: readonly MapRow[], members: readonly Member[]): FleetRow[] {
  const parts = new Map(members.map((member) => [member.id, member]));
  const present = fleet.map((row) => ({ ...row, ...partOf(parts.get(row.id)) }));
  for (const { id } of fleet) parts.delete(id);
  return ordered([...present, ...parts.values().map((member) => toPast(member))]);
}

/** The members of a past rollout, with their outcomes. */
export function joinPast(fleet: readonly MapRow[], members: readonly Member[]): FleetRow[] {
  const regions = new Map(fleet.map(({ id, region }) => [id, region]));
  return ordered(members.map((member) => toPast(member, regions.get(member.id))));
}

export function partOf(member: Member | undefined): Part {
  const { wave = null, outcome = null, outcome_reason = null, failure = null } = member ?? {};
  return { wave, outcome, outcome_reason, failure };
}

function toPast(member: Member, region = "gone"): FleetRow {
  const now = { image: "", running_image: "", deploy_status: "ready", deploy_reason: null };
  return { id: member.id, region, ...now, is_ordered: false, ...partOf(member) };
}

/** The database has its own order of letters; where it is the same, sorting a large fleet again is left out. */
function ordered(rows: FleetRow[]): FleetRow[] {
  const isOrdered = rows.every((row, i) => {
    const { [i - 1]: before } = rows;
    return before === undefined || byRegionAndId(before, row) <= 0;
  });
  return isOrdered ? rows : rows.sort(byRegionAndId);
}

function byRegionAndId(a: FleetRow, b: FleetRow): number {
  return compare(a.region, b.region) || compare(a.id, b.id);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
