import { describe, expect, it } from "vitest";
import { walkToPage } from "#routing/match.ts";
import { routes, sources, standardDefinitions } from "../support/monitor/standard-definitions.ts";

const { apiChecks, heartbeats } = standardDefinitions;
const walks = [...apiChecks, ...heartbeats].map((check) => ({
  check,
  walk: walkToPage(check, { sources, routes }),
}));
const of = (keep: (row: (typeof walks)[number]) => boolean) =>
  walks.filter(keep).map(({ check, walk }) => [check.id, walk] as const);

const takers = (walk: (typeof walks)[number]["walk"]) =>
  walk.simulation?.routes.filter(({ matches }) => matches).map(({ route }) => route);

describe("every check and heartbeat, from its definition to the page", () => {
  it.each(of(({ check }) => check.channel === "production"))(
    "%s pages Engineering On-Call and is posted to #alerts",
    (_, walk) => {
      expect(walk.source).toBe("synthetic-production");
      expect(takers(walk)).toEqual(["Production Alerts"]);
      expect(walk.simulation).toMatchObject({
        pages: ["Engineering On-Call"],
        channels: ["#alerts"],
      });
    },
  );

  it.each(of(({ check }) => check.channel === "staging"))(
    "%s is posted to #alerts and pages nobody",
    (_, walk) => {
      expect(walk.source).toBe("synthetic-staging");
      expect(takers(walk)).toEqual(["Staging Notifications"]);
      expect(walk.simulation).toMatchObject({ pages: [], channels: ["#alerts"] });
    },
  );

  it.each(of(({ check }) => check.channel === null))("%s notifies nobody", (_, walk) => {
    expect(walk).toMatchObject({ source: null, simulation: null });
  });

  it.each(of(({ check }) => check.environment === "staging"))("%s never pages", (_, walk) => {
    expect(walk.simulation?.pages ?? []).toEqual([]);
  });
});
