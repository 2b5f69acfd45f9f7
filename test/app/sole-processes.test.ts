import { expect, it } from "vitest";
import { roles } from "#app/base.ts";
import { locksOf } from "#app/data.ts";
import { readConfig } from "#config.ts";

const numbersOf = (
  environment: Record<string, string>,
  { as = roles, hasEngine = true }: { as?: readonly string[]; hasEngine?: boolean } = {},
) => locksOf(readConfig({ environment }), { roles: as, hasEngine }).map(({ number }) => number);

const ownFleet = 1;
const ownAnalytics = 2;

it.each<[string, Record<string, string>, readonly string[], number[]]>([
  ["a whole program", {}, roles, [ownFleet, ownAnalytics]],
  ["a worker", {}, ["worker"], [ownFleet]],
  ["a worker of a fleet elsewhere", { VEDETTE_FLEET__DRIVER: "http" }, ["worker"], []],
  ["control", {}, ["control"], []],
  ["an api process", {}, ["api"], [ownAnalytics]],
  ["an api process with a ClickHouse", { CLICKHOUSE_URL: "http://clickhouse:8123" }, ["api"], []],
  ["an api process without analytics", { VEDETTE_ANALYTICS__ENABLED: "no" }, ["api"], []],
])("%s with %o is, as %o, the only one of %o", (_, environment, as, numbers) => {
  const settings = { VEDETTE_FLEET__HTTP__URL: "http://fleet.test", ...environment };

  expect(numbersOf(settings, { as })).toEqual(numbers);
});

it("an api process on a machine without the embedded engine needs no lock", () => {
  expect(numbersOf({}, { as: ["api"], hasEngine: false })).toEqual([]);
});
