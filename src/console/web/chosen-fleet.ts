/** The fleet that the pages show. It is part of the address, so that a link leads to the same one. */
import { signal } from "@preact/signals";
import { session } from "./session.ts";

/** The name of the default fleet. */
export const defaultName = "singleton";

function inAddress(): string {
  return new URLSearchParams(location.search).get("fleet") ?? defaultName;
}

export const chosenFleet = signal(inAddress());

addEventListener("popstate", () => {
  chosenFleet.value = inAddress();
});

/** The end of an address that keeps the fleet. */
export function fleetQuery(fleet = chosenFleet.value): string {
  return fleet === defaultName ? "" : `?fleet=${encodeURIComponent(fleet)}`;
}

export function chooseFleet(fleet: string): void {
  chosenFleet.value = fleet;
  history.pushState(null, "", `${location.pathname}${fleetQuery(fleet)}`);
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

/** For people. */
export function titleOf(fleet: string): string {
  return fleet === defaultName ? "default" : fleet;
}
