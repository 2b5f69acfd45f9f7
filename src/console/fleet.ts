/** Sentinels with their part in a rollout. */
import { ProblemError } from "#kernel/problem.ts";
import type { Member } from "#rollout/history/contract.ts";
import type { SentinelDetail } from "./contract.ts";
import type { FleetRow } from "./fleet-columns.ts";

type MapRow = Omit<FleetRow, keyof Part>;
type Part = Pick<FleetRow, "wave" | "outcome" | "outcome_reason">;
type Sentinel = Omit<SentinelDetail, keyof Part>;

/** The tables of the fleet and of rollouts. */
export type FleetTables = {
  fleet: {
    /** Of one fleet, ordered by region and id. */
    all: (fleet: string) => Promise<MapRow[]>;
    one: (id: string) => Promise<Sentinel | undefined>;
  };
  rollouts: {
    members: (rolloutId: string) => Promise<Member[]>;
    member: (rolloutId: string, id: string) => Promise<Member | undefined>;
  };
};

export type FleetView = ReturnType<typeof createFleetView>;

/** The sentinels of the fleet of this name. */
export function createFleetView({ fleet, rollouts }: FleetTables, name: string) {
  return {
    /** The fleet as it is, ordered by region and id. */
    async live(rolloutId: string | null): Promise<FleetRow[]> {
      const members = rolloutId === null ? [] : await rollouts.members(rolloutId);
      const parts = new Map(members.map((member) => [member.id, member]));
      return (await fleet.all(name)).map((row) => ({ ...row, ...partOf(parts.get(row.id)) }));
    },

    /** The members of a past rollout, with their outcomes. */
    async past(rolloutId: string): Promise<FleetRow[]> {
      const members = await rollouts.members(rolloutId);
      const regions = new Map((await fleet.all(name)).map(({ id, region }) => [id, region]));
      return members.map((member) => toPast(member, regions.get(member.id))).sort(byRegionAndId);
    },

    /** Throws 404 for a sentinel that does not exist any more. */
    async one(id: string, rolloutId: string | null): Promise<SentinelDetail> {
      const sentinel = await fleet.one(id);
      if (sentinel === undefined) {
        const detail = `there is no sentinel ${id} any more`;
        throw new ProblemError({ status: 404, code: "not_found", detail });
      }
      const member = rolloutId === null ? undefined : await rollouts.member(rolloutId, id);
      return { ...sentinel, ...partOf(member) };
    },
  };
}

function partOf(member: Member | undefined): Part {
  const { wave = null, outcome = null, outcome_reason = null } = member ?? {};
  return { wave, outcome, outcome_reason };
}

function toPast(member: Member, region = "gone"): FleetRow {
  const now = { image: "", running_image: "", deploy_status: "ready", deploy_reason: null };
  return { id: member.id, region, ...now, ...partOf(member) };
}

function byRegionAndId(a: FleetRow, b: FleetRow): number {
  return compare(a.region, b.region) || compare(a.id, b.id);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
