/** Who may change the rollouts of a fleet, by the path of a call. */
import { type FleetOperators, isOperatorOf } from "#fleet/contract.ts";
import type { Caller } from "#kernel/roles.ts";
import { fleetOf, type Route } from "./routes.ts";

export type FleetCall = {
  route: Route;
  path: string;
  fleets?: readonly FleetOperators[] | undefined;
};

/** The fleet that the call would change and of which the caller is no operator; undefined: there is none. */
export function findForeignFleet(
  caller: Caller,
  { route, path, fleets = [] }: FleetCall,
): FleetOperators | undefined {
  const fleet = fleets.find(({ name }) => name === fleetOf(path));
  const mayChange = fleet === undefined || !route.isWrite || isOperatorOf(fleet, caller.actor);
  return mayChange ? undefined : fleet;
}
