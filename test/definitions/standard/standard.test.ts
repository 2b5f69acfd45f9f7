/** The standard rows against the tables of docs/monitoring.md, "What is watched", value by value. */
import { expect, it } from "vitest";
import { toMonitored } from "#definitions/rules/monitored.ts";
import { standardSet } from "#definitions/standard/standard.ts";
import { hostedLocations } from "#monitor/hosted/contract.ts";
import { runsAt } from "#monitor/rules/locations.ts";
import { standardDefinitions } from "../../support/monitor/standard-definitions.ts";

const { apiChecks, heartbeats, channels } = standardDefinitions;

it.each([
  ["verify-key", "POST", "/v2/keys.verifyKey", 22, 500, 10_000],
  ["rate-limit", "POST", "/v2/ratelimit.limit", 7, 100, 1_000],
  ["liveness", "GET", "/v2/liveness", 22, 5_000, 20_000],
])(
  "the check %s is the one documented",
  (id, method, path, places, degradedAboveMs, failedAboveMs) => {
    const check = apiChecks.find((row) => row.id === id);

    expect(check).toMatchObject({ method, path, degradedAboveMs, failedAboveMs });
    expect(new Set(check?.locations).size).toBe(places);
    expect(check).toMatchObject({
      environment: "production",
      frequencySeconds: 60,
      failedRunThreshold: 1,
      channel: "production",
    });
  },
);

it.each([
  ["production", "Certificate Workflow", 86_400, 7_200, "production", "certificate-renewal"],
  ["production", "Workflows: Refill", 86_400, 3_600, null, "key-refill"],
  ["production", "Workflows: Count Keys", 300, 60, null, "count-keys"],
  ["production", "Quota Check", 86_400, 3_600, null, "quota-check"],
  ["staging", "Certificate Workflow (Staging)", 86_400, 7_200, "staging", undefined],
  ["staging", "Key Refill (Staging)", 86_400, 3_600, "staging", undefined],
  ["staging", "Quota Check (Staging)", 86_400, 3_600, "staging", undefined],
])(
  "%s heartbeat %s is the one documented",
  (environment, name, periodSeconds, graceSeconds, channel, job) => {
    const heartbeat = heartbeats.find((row) => row.name === name);

    expect(heartbeat).toMatchObject({ environment, periodSeconds, graceSeconds, channel });
    expect(heartbeat?.job).toBe(job);
  },
);

it("there are three API checks and seven heartbeats", () => {
  expect([apiChecks.length, heartbeats.length]).toEqual([3, 7]);
});

it("both channels send failures and recoveries, and nothing degraded", () => {
  const sends = { sendFailure: true, sendRecovery: true, sendDegraded: false };

  expect(channels).toEqual([
    { name: "production", id: 218874, ...sends },
    { name: "staging", id: 273211, ...sends },
  ]);
});

it("the hosted monitor has 22 locations", () => {
  expect(new Set(hostedLocations).size).toBe(22);
});

it("the locations of the rate-limit check are a setting", () => {
  const moved = toMonitored(standardSet({ monitor: { rate_limit_locations: ["eu-west-1"] } }));

  expect(moved.apiChecks.find(({ id }) => id === "rate-limit")?.locations).toEqual(["eu-west-1"]);
});

it("a runner with the name of a hosted location runs the checks of that location", () => {
  const [verifyKey, rateLimit] = apiChecks;

  expect(verifyKey && runsAt(verifyKey, "eu-south-1")).toBe(true);
  expect(rateLimit && runsAt(rateLimit, "eu-south-1")).toBe(false);
});

it("a runner elsewhere runs every check", () => {
  expect(apiChecks.every((check) => runsAt(check, "local"))).toBe(true);
});

it("a runner elsewhere runs a check that names it, and none that names another of one's own", () => {
  expect(runsAt({ locations: ["fra"] }, "fra")).toBe(true);
  expect(runsAt({ locations: ["fra"] }, "local")).toBe(false);
  expect(runsAt({ locations: ["fra", "eu-west-1"] }, "eu-west-1")).toBe(true);
});
