import { expect, it } from "vitest";
import type { DriftReport, RoutePlan } from "#routing/incident/contract.ts";
import { announceDrift, evaluateDrift } from "#routing/incident/drift.ts";

const declared = { name: "A", enabled: true };
const owned = { A: { id: "01R", declared, disabled_digest: null } };

function aPlan(route: Partial<RoutePlan>) {
  const whole: RoutePlan = {
    name: "A",
    action: "none",
    id: "01R",
    base: { version: 1, digest: "", content: declared },
    declared,
    changes: [],
    ...route,
  };
  return {
    plan: {
      format: "vedette-alert-plan-1" as const,
      incident_url: "http://double",
      made_at: "2026-11-21T00:00:00.000Z",
      of: "routes" as const,
      routes: [whole],
      orphans: [],
      doubled: [],
      names: {},
    },
  };
}

const changedByHand = { version: 2, digest: "", content: { name: "A", enabled: false } };

it.each<[string, Partial<RoutePlan>, typeof owned | Record<string, never>]>([
  ["changed", { action: "update", base: changedByHand }, owned],
  ["not_applied", { action: "update", declared: { name: "A", channel: "C2" } }, owned],
  ["deleted", { action: "create", base: null }, owned],
  ["not_applied", { action: "create", base: null }, {}],
])("the drift report takes a route for %s", (why, route, known) => {
  expect(evaluateDrift(aPlan(route), known)).toMatchObject({
    state: "drifted",
    routes: [{ name: "A", why }],
  });
});

it("the drift report lists the differences, and none for a route that does not exist", () => {
  const changes = [{ path: "enabled", before: false, after: true }];
  const changed = aPlan({ action: "update", base: changedByHand, changes });
  const gone = aPlan({ action: "create", base: null, changes });

  expect(evaluateDrift(changed, owned).routes).toEqual([{ name: "A", why: "changed", changes }]);
  expect(evaluateDrift(gone, owned).routes).toEqual([{ name: "A", why: "deleted" }]);
});

it("cannot judge drift when names have no ids", () => {
  expect(evaluateDrift({ faults: ["channel #x is not known"], doubled: [] }, owned)).toEqual({
    state: "unknown",
    routes: [],
    doubled: [],
    reason: "channel #x is not known",
  });
});

const report = (state: DriftReport["state"]): DriftReport => ({
  checked_at: "2026-11-21T00:00:00.000Z",
  state,
  routes: state === "drifted" ? [{ name: "A", why: "changed" }] : [],
  doubled: [],
});

it.each([
  ["in_step", "drifted", "Alert routes differ from their rows"],
  ["drifted", "in_step", "Alert routes are in step again"],
  ["in_step", "in_step", undefined],
  ["drifted", "drifted", undefined],
  ["drifted", "unknown", undefined],
  ["in_step", "unknown", undefined],
] as const)("drift known as %s and found to be %s is announced as: %s", (told, state, title) => {
  expect(announceDrift(told, report(state), "id")?.title).toBe(title);
});
