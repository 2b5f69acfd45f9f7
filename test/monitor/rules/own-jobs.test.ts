import { expect, it } from "vitest";
import { isJobOff, isPingedByUs, withMissingSettings } from "#monitor/rules/own-jobs.ts";
import { aHeartbeat } from "../../support/monitor/check-builders.ts";

const counts = aHeartbeat({ id: "counts", job: "count-keys" });
const nightly = aHeartbeat({ id: "nightly" });

it("a heartbeat whose job is off has the settings that it lacks, others are as they were", () => {
  const quotas = aHeartbeat({ id: "quotas", job: "quota-check" });
  const definitions = { apiChecks: [], heartbeats: [counts, quotas, nightly], channels: [] };
  const missingOf = (job: string) => (job === "quota-check" ? ["analytics.enabled"] : []);

  const { heartbeats } = withMissingSettings(definitions, missingOf);

  expect(heartbeats).toEqual([
    counts,
    { ...quotas, missingSettings: ["analytics.enabled"] },
    nightly,
  ]);
});

it("only a job that is on pings, and a drill", () => {
  const off = { ...counts, missingSettings: ["analytics.enabled"] };

  const drill = aHeartbeat({ id: "weekly", drill: { graceSeconds: 60, channel: "production" } });

  expect([counts, nightly, off, drill].map(isPingedByUs)).toEqual([true, false, false, true]);
  expect([counts, nightly, off].map(isJobOff)).toEqual([false, false, true]);
});
