/** The wanted content of a route: a row determines the members that it manages, a backup all members. */
import type { Content, Plan, RoutePlan } from "#routing/incident/contract.ts";
import { digestOf } from "./content.ts";
import { newRoute } from "./declared.ts";
import { overlay } from "./overlay.ts";

export type Goal = { of: Plan["of"] } & Pick<RoutePlan, "declared" | "aliases">;

/** The whole content to write in place of `current`. Members that a backup lacks are removed. */
export function contentOver(current: Content, { of, declared, aliases }: Goal): Content {
  return of === "backup" ? declared : overlay(current, declared, aliases);
}

export function contentOfNew(goal: Goal): Content {
  return contentOver(newRoute, goal);
}

/** True if writing would not change what the route means. */
export function isReached(current: Content, goal: Goal): boolean {
  return digestOf(contentOver(current, goal)) === digestOf(current);
}
