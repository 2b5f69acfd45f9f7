/** The fleet that the pages show. It is part of the address, so that a link leads to the same one. */
import { computed } from "@preact/signals";
import { path, push, query } from "./address.ts";
import { pathInOtherFleet } from "./fleet-path.ts";
import { session } from "./session.ts";

export const defaultName = "singleton";

export const chosenFleet = computed(() => query.value.get("fleet") ?? defaultName);

/** The end of an address that keeps the fleet. */
export function fleetQuery(fleet = chosenFleet.value): string {
  return fleet === defaultName ? "" : `?fleet=${encodeURIComponent(fleet)}`;
}

/** An address of the console with the fleet; it names no other one. */
export function withFleet(to: string, fleet = chosenFleet.value): string {
  const ofFleet = fleetQuery(fleet);
  return to.includes("?") ? `${to}${ofFleet.replace("?", "&")}` : `${to}${ofFleet}`;
}

/** The page stays, or the list that it belongs to, without what it was refined by: that was of another fleet. */
export function chooseFleet(fleet: string): void {
  push(withFleet(pathInOtherFleet(path.value), fleet));
}

/** All of them, the default one first. */
export function fleetNames(): readonly string[] {
  return session.value?.fleets ?? [defaultName];
}

export function hasSeveralFleets(): boolean {
  return fleetNames().length > 1;
}

/** The field of a request that names the fleet; absent: there is only one. */
export function ofChosenFleet(): { fleet?: string } {
  return hasSeveralFleets() ? { fleet: chosenFleet.value } : {};
}

export function titleOf(fleet: string): string {
  return fleet === defaultName ? "default" : fleet;
}
