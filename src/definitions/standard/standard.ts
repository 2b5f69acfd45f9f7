/** Vedette's own rows, those of `extends: ["standard"]` and of a program without a file of definitions. */
import type { z } from "zod";
import { CheckRow } from "#definitions/rows/check.ts";
import { type DefinitionSet, emptySet } from "#definitions/rows/contract.ts";
import type { ChannelRow } from "#definitions/rows/fields.ts";
import type { HeartbeatRow } from "#definitions/rows/heartbeat.ts";
import { routes, sources } from "./routes.ts";

// The checks of the API that Vedette serves (docs/monitoring.md).

/** The default: a run each minute, and one failed run alerts. */
const everyMinute = { frequencySeconds: 60, failedRunThreshold: 1 };

const rootKeyHeader = { authorization: "Bearer {{ROOT_KEY}}" };

/** `rateLimitLocations`: from the setting `monitor.rate_limit_locations`. */
const checksOf = (rateLimitLocations: readonly string[]): readonly z.input<typeof CheckRow>[] => [
  {
    id: "verify-key",
    name: "Verify key",
    environment: "production",
    method: "POST",
    path: "/v2/keys.verifyKey",
    headers: rootKeyHeader,
    body: { key: "{{KEY}}" },
    assertions: [
      { source: "status", equals: 200 },
      { source: "json", path: "data.valid", equals: true },
    ],
    degradedAboveMs: 500,
    failedAboveMs: 10_000,
    channels: ["production"],
    ...everyMinute,
  },
  {
    id: "rate-limit",
    name: "Rate limit",
    environment: "production",
    method: "POST",
    path: "/v2/ratelimit.limit",
    headers: rootKeyHeader,
    // Far more than all locations together request: a refusal is a fault of the limiter.
    body: {
      namespace: "synthetic-checks",
      identifier: "synthetic-check",
      limit: 1_000,
      duration: 60_000,
    },
    assertions: [
      { source: "status", equals: 200 },
      { source: "json", path: "data.success", equals: true },
    ],
    locations: [...rateLimitLocations],
    degradedAboveMs: 100,
    failedAboveMs: 1_000,
    channels: ["production"],
    ...everyMinute,
  },
  {
    id: "liveness",
    name: "Liveness",
    environment: "production",
    method: "GET",
    path: "/v2/liveness",
    headers: {},
    body: null,
    assertions: [{ source: "status", equals: 200 }],
    degradedAboveMs: 5_000,
    failedAboveMs: 20_000,
    channels: ["production"],
    ...everyMinute,
  },
];

/** Vedette's own jobs (docs/monitoring.md). Those of staging watch another installation, which pings their URLs. */
const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

const heartbeats: readonly HeartbeatRow[] = [
  {
    id: "certificate-workflow",
    name: "Certificate Workflow",
    environment: "production",
    watches: "certificate renewal cron job",
    periodSeconds: day,
    graceSeconds: 2 * hour,
    job: "certificate-renewal",
    dependsOn: [],
    channels: ["production"],
  },
  {
    id: "workflows-refill",
    name: "Workflows: Refill",
    environment: "production",
    watches: "key refill cron job",
    periodSeconds: day,
    graceSeconds: hour,
    job: "key-refill",
    dependsOn: [],
    channels: [],
  },
  {
    id: "workflows-count-keys",
    name: "Workflows: Count Keys",
    environment: "production",
    watches: "count-keys job",
    periodSeconds: 5 * minute,
    graceSeconds: minute,
    job: "count-keys",
    dependsOn: [],
    channels: [],
  },
  {
    id: "quota-check",
    name: "Quota Check",
    environment: "production",
    watches: "quota check cron job",
    periodSeconds: day,
    graceSeconds: hour,
    job: "quota-check",
    dependsOn: [],
    channels: [],
  },
  {
    id: "certificate-workflow-staging",
    name: "Certificate Workflow (Staging)",
    environment: "staging",
    watches: "certificate renewal cron job",
    periodSeconds: day,
    graceSeconds: 2 * hour,
    dependsOn: [],
    channels: ["staging"],
  },
  {
    id: "key-refill-staging",
    name: "Key Refill (Staging)",
    environment: "staging",
    watches: "key refill cron job",
    periodSeconds: day,
    graceSeconds: hour,
    dependsOn: [],
    channels: ["staging"],
  },
  {
    id: "quota-check-staging",
    name: "Quota Check (Staging)",
    environment: "staging",
    watches: "quota check cron job",
    periodSeconds: day,
    graceSeconds: hour,
    dependsOn: [],
    channels: ["staging"],
  },
];

/** The settings that the rows depend on. */
export type StandardSettings = { monitor: { rate_limit_locations: readonly string[] } };

export function standardSet({ monitor }: StandardSettings): DefinitionSet {
  const checks = checksOf(monitor.rate_limit_locations).map((row) => CheckRow.parse(row));
  return { ...emptySet, channels, checks, heartbeats, sources, routes };
}

/** The webhook channels, one per environment, with their numbers at the hosted monitor. */
const channels: readonly ChannelRow[] = [
  { id: "production", kind: "incident", environment: "production", hostedId: 218874 },
  { id: "staging", kind: "incident", environment: "staging", hostedId: 273211 },
];
