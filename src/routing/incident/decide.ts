/** What is to be done about one route, by what is there now. */
import type {
  Content,
  OwnedRoute,
  Plan,
  RoutePlan,
  RouteResult,
} from "#routing/incident/contract.ts";
import { digestOf } from "./content.ts";
import { diffThreeWays } from "./diff.ts";
import { contentOfNew, contentOver, type Goal, isReached } from "./goal.ts";
import { isInStep } from "./overlay.ts";
import type { FoundRoute } from "./service.ts";

export type RouteOrder = {
  route: RoutePlan;
  /** null: it is none of ours. */
  owned: OwnedRoute | null;
  adopt: boolean;
  of: Plan["of"];
  /** Ids that the plan has for its other routes. */
  others: readonly string[];
  /**
   * One that an earlier apply was about to make, and said no more of: it may be there. `leftMs`: for how
   * long lists may not show it yet.
   */
  open: { declared: Content; leftMs: number } | null;
};

export type Situation = {
  found: FoundRoute | null;
  /** What this apply has tried to write: it may be done already. */
  tried: "created" | "updated" | null;
};

export type Next =
  | { kind: "create"; content: Content }
  | { kind: "update"; found: FoundRoute; content: Content }
  | ({ kind: "end" } & Pick<RouteResult, "outcome" | "message" | "difference">);

export function decide(order: RouteOrder, { found, tried }: Situation): Next {
  const { route, owned, adopt, of } = order;
  const { base, declared } = route;
  const goal = { of, declared };
  if (found === null) return decideAbsent(route, goal);
  if (isReached(found.content, goal)) return { kind: "end", outcome: tried ?? "in_step" };
  // Made since the plan, perhaps by a write of ours that someone else went over.
  if (base === null) return conflict(order, found);
  if (!adopt && of === "routes" && owned?.id !== found.id) {
    const message = "it was there before Vedette, and is taken over with --adopt only";
    return { kind: "end", outcome: "not_ours", message };
  }
  // Only the version may have moved: then nobody's change is lost.
  if (digestOf(found.content) !== base.digest) return conflict(order, found);
  return { kind: "update", found, content: contentOver(found.content, goal) };
}

/** An apply may end between making a route and saying that it is ours. */
export function isMadeByUs({ owned, open, route }: RouteOrder, found: FoundRoute): boolean {
  if (open === null || owned?.id === found.id) return false;
  return isNamed(found, route.name) && isInStep(found.content, open.declared);
}

function isNamed({ content }: FoundRoute, name: string): boolean {
  return content["name"] === name;
}

function decideAbsent({ base }: RoutePlan, goal: Goal): Next {
  if (base === null) return { kind: "create", content: contentOfNew(goal) };
  const message = "deleted by someone else since the plan";
  return { kind: "end", outcome: "conflict", message };
}

function conflict({ route, owned, of }: RouteOrder, { content: theirs }: FoundRoute): Next {
  const base = route.base?.content ?? owned?.declared ?? {};
  const ours = contentOver(base, { of, declared: route.declared });
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

/** A route of ours that is no row any more: first disabled, and deleted the next time. */
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
