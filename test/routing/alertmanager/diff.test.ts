import fc from "fast-check";
import { expect, it } from "vitest";
import { writeAlertmanagerYaml } from "#routing/alertmanager/export.ts";
import { diffConfigs } from "#routing/alertmanager/keep.ts";
import type { AlertRoute } from "#routing/contract.ts";
import { anyRoutes, aRoute } from "../../support/routing/route-rows.ts";
import { aSending } from "../../support/servers/alertmanager.ts";

const one = aRoute({ name: "One", escalation: "On-Call" });
const two = aRoute({ name: "Two" });
const wanted = writeAlertmanagerYaml([aSending()], [one, two]);

it("the comparison finds nothing between texts that mean the same", () => {
  const rewritten = `# by hand\n${wanted.replace("receiver: production/one", 'receiver: "production/one" # mine')}`;

  expect(diffConfigs(rewritten, wanted)).toEqual([]);
});

it("the comparison names the field that differs, with both values", () => {
  const edited = wanted.replace("group_wait: 0s", "group_wait: 5m");

  expect(diffConfigs(edited, wanted)).toEqual([
    { path: "route.routes[production/one].group_wait", before: "5m", after: "0s" },
  ]);
});

it("the comparison reports routes in another order", () => {
  const old = writeAlertmanagerYaml([aSending()], [{ ...one, escalation: null }, two]);
  const turned = writeAlertmanagerYaml([aSending()], [two, { ...one, escalation: null }]);

  expect(diffConfigs(turned, old)).toEqual([
    {
      path: "route.routes in order",
      before: "production/two, production/one",
      after: "production/one, production/two",
    },
  ]);
});

it("the comparison reports a new route by its own fields alone", () => {
  const before = writeAlertmanagerYaml([aSending()], [two]);

  const paths = diffConfigs(before, wanted).map(({ path }) => path);

  expect(paths.every((path) => path.includes("production/one") || path.endsWith("order"))).toBe(
    true,
  );
});

it("the comparison treats a missing file as an empty one", () => {
  const changes = diffConfigs(null, wanted);

  expect(changes.every(({ before }) => before === null)).toBe(true);
  expect(changes.length).toBeGreaterThan(10);
});

it("the comparison finds nothing between two texts exactly when they mean the same", () => {
  const textOf = (routes: AlertRoute[]) => writeAlertmanagerYaml([aSending()], routes);

  fc.assert(
    fc.property(anyRoutes, anyRoutes, (some, others) => {
      const [before, after] = [textOf(some), textOf(others)];

      expect(diffConfigs(before, after).length === 0).toBe(before === after);
      expect(diffConfigs(before, before)).toEqual([]);
    }),
    // YAML takes its time, and unit tests are few seconds long.
    { numRuns: 25 },
  );
});

it.each([
  ["authorization:", "authorization:\n            credentials: s3cret"],
  ["route:", "global:\n  smtp_auth_password: s3cret\nroute:"],
  ["/v2/alert_events", "/v2/alert_events?token=s3cret&x=/v2"],
  ["https://", "https://user:s3cret@"],
])("the comparison shows no secret that someone has put in beside %s", (text, put) => {
  const edited = wanted.replace(text, put);

  const changes = diffConfigs(edited, wanted);

  expect(changes).not.toEqual([]);
  expect(JSON.stringify(changes)).not.toContain("s3cret");
});
