/** One sentinel with its part in a rollout. */
import { ProblemError } from "#kernel/problem.ts";
import type { Member } from "#rollout/history/contract.ts";
import type { SentinelDetail } from "./contract.ts";
import { type Part, partOf } from "./fleet-rows.ts";

/** The tables of the fleet and of rollouts. */
export type FleetTables = {
  fleet: { one: (id: string) => Promise<Omit<SentinelDetail, keyof Part> | undefined> };
  rollouts: { member: (rolloutId: string, id: string) => Promise<Member | undefined> };
};

export type ReadSentinel = ReturnType<typeof createReadSentinel>;

export function createReadSentinel({ fleet, rollouts }: FleetTables) {
  /** Throws 404 for a sentinel that does not exist any more. */
  return async (id: string, rolloutId: string | null): Promise<SentinelDetail> => {
    const sentinel = await fleet.one(id);
    if (sentinel === undefined) {
      const detail = `there is no sentinel ${id} any more`;
      throw new ProblemError({ status: 404, code: "not_found", detail });
    }
    const member = rolloutId === null ? undefined : await rollouts.member(rolloutId, id);
    return { ...sentinel, ...partOf(member) };
  };
}
