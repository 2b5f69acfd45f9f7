import fc from "fast-check";
import { expect, it } from "vitest";
import { suggestCatchAll } from "#routing/catch-all.ts";
import type { AlertRoute, AlertSource } from "#routing/contract.ts";
import { anyOther, coverSource, notSet, type Region } from "#routing/coverage.ts";
import { simulate } from "#routing/match.ts";
import { routes, sources } from "../../support/monitor/standard-definitions.ts";
import { anyLabels, anyRoutes, aRoute, aSource } from "../../support/routing/route-rows.ts";

const source = aSource();

function takers(labels: Record<string, string>, rows: readonly AlertRoute[]): string[] {
  const { routes } = simulate({ source: source.name, labels }, rows);
  return routes.filter(({ matches }) => matches).map(({ route }) => route);
}

/** Whether the alert is one of those that the region tells of. */
function isIn(region: Region, labels: Record<string, string>, of: Record<string, string[]>) {
  return Object.entries(region.labels).every(([label, values]) => {
    const value = labels[label] || notSet;
    const isNamed = value === notSet || of[label]?.includes(value);
    return values.includes(isNamed ? value : anyOther);
  });
}

const production = sources.find(({ name }) => name === "alertmanager-production") as AlertSource;

it("proves that every severity but critical, warning and none at all is dropped in production", () => {
  const { holes, overlaps } = coverSource(production, routes);

  expect(holes).toEqual([
    { source: "alertmanager-production", labels: { severity: ["info", anyOther] } },
  ]);
  expect(overlaps).toEqual([]);
});

it("leaves out a label that makes no difference", () => {
  const labels = { severity: ["critical"], team: ["core", "edge"] };
  const route = aRoute({
    sources: [
      {
        source: "metrics",
        conditions: [{ label: "severity", operation: "one_of", values: ["critical"] }],
      },
    ],
  });

  const { holes } = coverSource(aSource({ labels }), [route]);

  expect(holes).toEqual([{ source: "metrics", labels: { severity: [anyOther, notSet] } }]);
});

it("refuses to try more combinations than it can", () => {
  const labels = Object.fromEntries([..."abcdefghij"].map((name) => [name, ["1", "2"]]));

  expect(() => coverSource(aSource({ labels }), [aRoute()])).toThrow(RangeError);
});

it("says of every alert whether no route, one or several take it", () => {
  fc.assert(
    fc.property(anyRoutes, anyLabels, (rows, labels) => {
      const { holes, overlaps, domain } = coverSource(source, rows);
      const taken = takers(labels, rows);

      const isHole = holes.some((region) => isIn(region, labels, domain));
      const overlap = overlaps.filter((region) => isIn(region, labels, domain));

      expect(isHole).toBe(taken.length === 0);
      expect(overlap.map(({ routes }) => routes)).toEqual(taken.length > 1 ? [taken] : []);
    }),
    { numRuns: 1_000 },
  );
});

it("suggests a route that takes all that was dropped and nothing besides", () => {
  fc.assert(
    fc.property(anyRoutes, (rows) => {
      const before = coverSource(source, rows);
      fc.pre(before.holes.length > 0);

      const after = coverSource(source, [...rows, suggestCatchAll(source, before, rows)]);

      expect(after.holes).toEqual([]);
      expect(after.overlaps).toEqual(before.overlaps);
    }),
    { numRuns: 500 },
  );
});
