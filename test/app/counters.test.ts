import { expect, it } from "vitest";
import { countersOf } from "#app/fleet.ts";
import { fleetsOf } from "#app/fleets.ts";
import { readConfig } from "#config.ts";

const readCounters = async () => new Map();

const fleetWith = (environment: Record<string, string>) => {
  const [fleet] = fleetsOf(readConfig({ environment }));
  if (fleet === undefined) throw new Error("there is no fleet");
  return fleet;
};

const byPrometheus = {
  VEDETTE_FLEET__COUNTERS__SOURCE: "prometheus",
  VEDETTE_FLEET__COUNTERS__REQUESTS: "requests",
  VEDETTE_FLEET__COUNTERS__ERRORS: "errors",
  VEDETTE_FLEET__COUNTERS__LABEL: "sentinel",
};

it("counters from the fleet are read where its driver can read them", () => {
  const fleet = fleetWith({ VEDETTE_FLEET__COUNTERS__SOURCE: "fleet" });

  expect(countersOf(fleet, { readCounters })).toBe(readCounters);
  expect(countersOf(fleet, {})).toBeUndefined();
});

it("counters from Prometheus are read where the settings have one, so that no gate waits for none", () => {
  const url = { VEDETTE_ROLLOUT__PROMETHEUS_URL: "http://prometheus:9090" };

  expect(countersOf(fleetWith({ ...byPrometheus, ...url }), {})).toBeDefined();
  expect(countersOf(fleetWith(byPrometheus), {})).toBeUndefined();
});
