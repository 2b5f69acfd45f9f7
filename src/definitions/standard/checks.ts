/** The checks of the API that Vedette serves (docs/monitoring.md). */
import type { z } from "zod";
import type { CheckRow } from "#definitions/rows/check.ts";

/** The default: a run each minute, and one failed run alerts. */
const everyMinute = { frequencySeconds: 60, failedRunThreshold: 1 };

const rootKeyHeader = { authorization: "Bearer {{ROOT_KEY}}" };

/** `rateLimitLocations`: from the setting `monitor.rate_limit_locations`. */
export const checksOf = (
  rateLimitLocations: readonly string[],
): readonly z.input<typeof CheckRow>[] => [
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
