/** Refuses a list with far fewer sentinels than before: most likely the fleet's API is failing. */
import { ProblemError } from "#kernel/problem.ts";
import { type FleetProblemCode, fleetOption } from "./contract.ts";

/** Counts of a fleet's sentinels: known so far, of those missing in a new list, and listed in it. */
export type ListCounts = { fleet: string; known: number; missing: number; listed: number };

/** Throws `fleet_list_refused` for a list that lacks more than this percentage of the known ones. */
export function refuseList(
  { fleet, known, missing, listed }: ListCounts,
  maxMissingPercent: number,
): void {
  if (missing * 100 <= known * maxMissingPercent) return;
  throw new ProblemError<FleetProblemCode>({
    status: 409,
    code: "fleet_list_refused",
    detail:
      `the fleet lists ${listed} sentinels and lacks ${missing} of the ${known} known ones: ` +
      `it was not accepted. If it is correct, confirm it: vedette sentinels confirm ${listed}${fleetOption(fleet)}`,
  });
}

/** Throws `fleet_list_changed` when the fleet lists another number than the one confirmed. */
export function requireCount(listed: number, confirmed: number): void {
  if (listed === confirmed) return;
  throw new ProblemError<FleetProblemCode>({
    status: 409,
    code: "fleet_list_changed",
    detail: `the fleet lists ${listed} sentinels now, not ${confirmed}: check again and confirm that number`,
  });
}
