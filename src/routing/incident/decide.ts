/** Decides what to do about one route, by its present content. Pure. */
import { digestOf } from "./content.ts";
import type { Content, OwnedRoute, Plan, RoutePlan, RouteResult } from "./contract.ts";
import { newRoute } from "./declared.ts";
import { diffThreeWays } from "./diff.ts";
import { isInStep, overlay } from "./overlay.ts";
import type { FoundRoute } from "./service.ts";

/** The wanted content of a route: a row determines the members that it manages, a backup all members. */
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

export type RouteOrder = {
  route: RoutePlan;
  /** null: it is not ours. */
  owned: OwnedRoute | null;
  adopt: boolean;
  of: Plan["of"];
  /** Ids that the plan has for its other routes. */
  others: readonly string[];
  /** An earlier creation of unknown outcome: it may exist. `leftMs`: how long lists may still not show it. */
  open: { declared: Content; leftMs: number } | null;
};

type Situation = {
  found: FoundRoute | null;
  /** The write that this apply has tried: it may have succeeded. */
  tried: "created" | "updated" | null;
};

export type RouteAction =
  | { kind: "create"; content: Content }
  | { kind: "update"; found: FoundRoute; content: Content }
  | ({ kind: "end" } & Pick<RouteResult, "outcome" | "message" | "difference">);

export function decide(order: RouteOrder, { found, tried }: Situation): RouteAction {
  const { route, owned, adopt, of } = order;
  const { base } = route;
  const goal = { of, ...route };
  if (found === null) return decideAbsent(route, goal);
  if (isReached(found.content, goal)) return { kind: "end", outcome: tried ?? "in_step" };
  // Created since the plan, perhaps by a write of ours that someone else has changed again.
  if (base === null) return conflict(order, found);
  if (!adopt && of === "routes" && owned?.id !== found.id) {
    const message = "it existed before Vedette, and is taken over with --adopt only";
    return { kind: "end", outcome: "not_ours", message };
  }
  // A newer version with the same content is no conflict: no change of others is lost.
  if (digestOf(found.content) !== base.digest) return conflict(order, found);
  return { kind: "update", found, content: contentOver(found.content, goal) };
}

/** True if an apply that ended before it could record its creation has made this route. */
export function isMadeByUs({ owned, open, route }: RouteOrder, found: FoundRoute): boolean {
  if (open === null || owned?.id === found.id) return false;
  return isNamed(found, route.name) && isInStep(found.content, open.declared, route.aliases);
}

function isNamed({ content }: FoundRoute, name: string): boolean {
  return content["name"] === name;
}

function decideAbsent({ base }: RoutePlan, goal: Goal): RouteAction {
  if (base === null) return { kind: "create", content: contentOfNew(goal) };
  const message = "deleted by someone else since the plan";
  return { kind: "end", outcome: "conflict", message };
}

function conflict({ route, owned, of }: RouteOrder, { content: theirs }: FoundRoute): RouteAction {
  const base = route.base?.content ?? owned?.declared ?? {};
  const ours = contentOver(base, { of, ...route });
  return {
    kind: "end",
    outcome: "conflict",
    message: "changed by someone else since the plan",
    difference: diffThreeWays({ base, theirs, ours }),
  };
}

export type PruneNext =
  | { kind: "disable" | "delete"; found: FoundRoute }
  | ({ kind: "end"; disabledDigest?: string } & Pick<RouteResult, "outcome" | "message">);

/** A route of ours whose row is gone is first disabled, and deleted by the next prune. */
export function decidePrune(
  { disabled_digest: disabled }: OwnedRoute,
  found: FoundRoute | null,
): PruneNext {
  if (found === null) return { kind: "end", outcome: "deleted" };
  const { content } = found;
  if (disabled === null) {
    if (content["enabled"] !== false) return { kind: "disable", found };
    return { kind: "end", outcome: "disabled", disabledDigest: digestOf(content) };
  }
  if (digestOf(content) === disabled) return { kind: "delete", found };
  const message = "changed by someone else since it was disabled; it is not deleted";
  return { kind: "end", outcome: "conflict", message };
}
