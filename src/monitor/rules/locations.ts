/** Decides where a check runs. */
import type { ApiCheck } from "#monitor/contract.ts";
import { hostedLocations } from "#monitor/hosted/contract.ts";

/**
 * True if our own runner at `location` runs the check. A runner with the name of a hosted location runs the checks of
 * that location. Any other (`local`, `fra`) runs those that name it, and those that name hosted locations only, which
 * say nothing about our own.
 */
export function runsAt({ locations }: Pick<ApiCheck, "locations">, location: string): boolean {
  if (locations.includes(location)) return true;
  return !isHosted(location) && locations.every(isHosted);
}

function isHosted(location: string): boolean {
  return hostedLocations.includes(location);
}
