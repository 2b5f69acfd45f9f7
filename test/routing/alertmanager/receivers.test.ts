/** Receivers are named after routes, and no two routes share one. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { nameReceivers } from "#routing/alertmanager/tree.ts";
import { aRoute, aSource } from "../../support/routing/route-rows.ts";

const source = aSource();

function receiversOf(...names: string[]): string[] {
  const routes = names.map((name) => aRoute({ name }));
  const nameOf = nameReceivers(routes);
  return [...routes, null].map((route) => nameOf(source, route));
}

it("a receiver has the name of its route in lower case, with hyphens", () => {
  expect(receiversOf("Production Alerts (EU)")[0]).toBe("production/production-alerts-eu");
});

it.each([
  [["Team A", "team-a"]],
  [["Team A", "Team  A", "team_a", "TEAM A", "team.a", "Team A!"]],
  [["!!!", "???", "…"]],
  [["🔥", "🚒"]],
  [["No Route", "no-route"]],
  [["café", "cafe\u0301", "cafe"]],
  [["日本", "日-本"]],
])("routes named %j have receivers of their own", (names) => {
  const receivers = receiversOf(...names);

  expect(new Set(receivers).size).toBe(names.length + 1);
  for (const receiver of receivers) expect(receiver).toMatch(/^production\/[\p{L}\p{N}]/u);
});

it("the order of routes makes no difference to the names of their receivers", () => {
  const [one, other] = receiversOf("Team A", "team-a");

  expect(receiversOf("team-a", "Team A").slice(0, 2)).toEqual([other, one]);
});

it("no two routes share a receiver, whatever their names", () => {
  const name = fc.string({ unit: fc.constantFrom(..."aAbB1 -_.é日!"), minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(fc.uniqueArray(name, { maxLength: 30 }), (names) => {
      expect(new Set(receiversOf(...names)).size).toBe(names.length + 1);
    }),
  );
});
