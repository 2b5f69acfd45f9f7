/** The API checks (docs/monitoring.md). To add one, add a row; `vedette checks lint` validates it. */
import type { ApiCheck } from "#monitor/contract.ts";

/** The locations of a check: all of the hosted monitor, or those of a setting. */
export type LocationSet = "all" | "rate_limit";

export type ApiCheckRow = Omit<ApiCheck, "locations"> & { locations: LocationSet };

/** The default: a run each minute, and one failed run alerts. */
const everyMinute = { frequencySeconds: 60, failedRunThreshold: 1 };

const rootKeyHeader = { authorization: "Bearer {{ROOT_KEY}}" };

export const apiCheckRows: readonly ApiCheckRow[] = [
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
    locations: "all",
    degradedAboveMs: 500,
    failedAboveMs: 10_000,
    channel: "production",
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
    locations: "rate_limit",
    degradedAboveMs: 100,
    failedAboveMs: 1_000,
    channel: "production",
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
    locations: "all",
    degradedAboveMs: 5_000,
    failedAboveMs: 20_000,
    channel: "production",
    ...everyMinute,
  },
];
