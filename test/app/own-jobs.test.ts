import { expect, it } from "vitest";
import { createMissingOfJob } from "#app/parts.ts";
import { readConfig } from "#config.ts";
import { cronJobs } from "#cron/contract.ts";

const isEngineInstalled = () => true;

function missingIn(environment: Record<string, string>, here = { servesApi: true }) {
  const config = readConfig({ environment });
  const missingOf = createMissingOfJob(config, { isEngineInstalled, ...here });
  return Object.fromEntries(cronJobs.map((job) => [job, missingOf(job)]));
}

it("by default the jobs are on that need nothing from outside", () => {
  expect(missingIn({})).toEqual({
    "key-refill": [],
    "count-keys": [],
    "quota-check": [],
    "key-last-used-sync": [],
    "certificate-renewal": ["acme.names"],
    "alertmanager-drift": ["alertmanager.production.url"],
    "alert-routes-drift": ["incident.url", "incident.api_key"],
    "fleet-drift": [],
  });
});

it("the quota check needs analytics, and a store that this process has", () => {
  const quotaCheck = (...args: Parameters<typeof missingIn>) => missingIn(...args)["quota-check"];

  expect(quotaCheck({ VEDETTE_ANALYTICS__ENABLED: "false" })).toEqual(["analytics.enabled"]);
  expect(quotaCheck({}, { servesApi: false })).toEqual(["clickhouse.url"]);
  const url = "http://clickhouse.example.com:8123/vedette";
  expect(quotaCheck({ CLICKHOUSE_URL: url }, { servesApi: false })).toEqual([]);
});

it("the quota check is off where the embedded engine is not installed", () => {
  const config = readConfig({ environment: {} });

  const missingOf = createMissingOfJob(config, { servesApi: true, isEngineInstalled: () => false });

  expect(missingOf("quota-check")).toEqual(["clickhouse.url"]);
});

it("a setting that turns a job on is not named once it is set", () => {
  const missing = missingIn({
    VEDETTE_ACME__NAMES: "api.example.com",
    VEDETTE_ALERTMANAGER__STAGING__URL: "http://alerts.example.com:9093",
  });

  expect(missing["certificate-renewal"]).toEqual([]);
  expect(missing["alertmanager-drift"]).toEqual([]);
});

it("a job of another version is not known to be off", () => {
  const missingOf = createMissingOfJob(readConfig({ environment: {} }), { servesApi: true });

  expect(missingOf("defragment")).toEqual([]);
});
