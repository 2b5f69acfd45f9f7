/** A fleet that suddenly lists far fewer sentinels is more often ill than gone. */
import { ProblemError } from "#kernel/problem.ts";
import type { FleetProblemCode } from "./contract.ts";

/** Counts of sentinels: those known so far, those of them that a new list lacks, those it has. */
export type ListCounts = { known: number; missing: number; listed: number };

/** Throws `fleet_list_refused` for a list that lacks more than so many percent of those known. */
export function refuseList(
  { known, missing, listed }: ListCounts,
  maxMissingPercent: number,
): void {
  if (missing * 100 <= known * maxMissingPercent) return;
  throw new ProblemError<FleetProblemCode>({
    status: 409,
    code: "fleet_list_refused",
    detail:
      `the fleet lists ${listed} sentinels and lacks ${missing} of the ${known} known ones: ` +
      `nothing is changed by such a list. If it is right, say so: vedette sentinels confirm ${listed}`,
  });
}

/** Throws `fleet_list_changed` when the fleet lists another number than the one confirmed. */
export function requireCount(listed: number, confirmed: number): void {
  if (listed === confirmed) return;
  throw new ProblemError<FleetProblemCode>({
    status: 409,
    code: "fleet_list_changed",
    detail: `the fleet lists ${listed} sentinels now, not ${confirmed}: look again and confirm that number`,
  });
}
