/** Decides who may change the rollouts of a fleet, by the path of a call. */
import { type FleetOperators, isOperatorOf } from "#fleet/contract.ts";
import type { Caller } from "#kernel/roles.ts";
import { fleetOf, type Route } from "./routes.ts";

export type FleetCall = {
  /** undefined: not in the allow-list, and so a call that may change any fleet. */
  route: Route | undefined;
  path: string;
  fleets?: readonly FleetOperators[] | undefined;
};

/** The fleet that the call would change and of which the caller is no operator; undefined: there is none. */
export function findForeignFleet(
  caller: Caller,
  { route, path, fleets = [] }: FleetCall,
): FleetOperators | undefined {
  if (route?.isWrite === false) return undefined;
  const isConcerned = ({ name }: FleetOperators) => route === undefined || name === fleetOf(path);
  return fleets.find((fleet) => isConcerned(fleet) && !isOperatorOf(fleet, caller.actor));
}
