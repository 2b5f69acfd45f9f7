/** The procedures of `analytics`. */
import { z } from "zod";
import { ApiError } from "#api/error.ts";
import { type Call, type Procedures, procedure } from "#api/procedure.ts";
import type { Limiter } from "#api/ratelimit/limiter.ts";
import { text } from "#api/schema.ts";
import type { Database } from "#kernel/database.ts";
import { conditionFor, ofWorkspace } from "./access.ts";
import { notConfigured, toApiError } from "./answer.ts";
import type { EngineQuery, Row } from "./engine-client.ts";
import { describeQueries } from "./reference.ts";
import type { Retention } from "./retention.ts";
import { guardQuery } from "./sql/guard.ts";
import { type QueryFamily, queryFamilies, tablesOf } from "./sql/tables.ts";

/** The store, as far as queries need it. */
export type AnalyticsStore = {
  database: string;
  /** Throws `EngineError`. */
  query: (query: EngineQuery) => Promise<Row[]>;
};

export type AnalyticsParts = {
  database: Database;
  limiter: Limiter;
  /** undefined: there is none. */
  analytics: { store: AnalyticsStore; retention: Retention } | undefined;
};

/** Queries of a workspace, whoever asks them. */
const queriesPerHour = 1_000;
const hourMs = 3_600_000;

const Input = z.strictObject({ query: text() });
const Output = z.array(z.record(z.string(), z.unknown()));

export function analyticsProcedures(parts: AnalyticsParts): Procedures {
  return {
    getGatewayRequests: absent("Requests that a gateway served; not kept by this server."),
    getRatelimits: query(parts, "ratelimits", "Reads rate limit decisions by SQL."),
    getRuntimeLogs: absent("Logs of deployed applications; not kept by this server."),
    getVerifications: query(parts, "verifications", "Reads verifications of keys by SQL."),
  };
}

function query(parts: AnalyticsParts, family: QueryFamily, summary: string) {
  const tables = tablesOf(family);
  return procedure({
    summary,
    description: () => describeQueries(family, parts.analytics?.retention),
    input: Input,
    output: Output,
    refusals: family === "ratelimits" ? [412, 422, 503] : [422, 503],
    handle: async (input, call) => {
      const condition = await conditionFor(family, call, parts.database);
      if (parts.analytics === undefined) throw notConfigured();
      const { store, retention } = parts.analytics;
      const { database } = store;
      const { nowMs } = call;
      const sql = guardQuery(input.query, { database, tables, condition, retention, nowMs });
      await spendQuota(parts.limiter, call);
      const rows = store.query({ sql, filters: filtersFor(family, database, call) });
      return {
        data: await rows.catch((error) => {
          throw toApiError(error);
        }),
      };
    },
  });
}

/** A second lock, which the store keeps: for every table there is, found in the query or not. */
function filtersFor(family: QueryFamily, database: string, call: Call): EngineQuery["filters"] {
  const own = ofWorkspace(call.workspaceId);
  const filters = queryFamilies.flatMap((one) =>
    [...tablesOf(one).keys()].map((name) => [
      `${database}.${name}`,
      one === family ? own : "1 = 0",
    ]),
  );
  return Object.fromEntries(filters);
}

async function spendQuota(limiter: Limiter, { workspaceId, nowMs }: Call): Promise<void> {
  const key = `analytics:${workspaceId}`;
  const request = { key, limit: queriesPerHour, durationMs: hourMs, cost: 1 };
  const { passed } = await limiter.take([request], nowMs);
  if (passed) return;
  throw new ApiError(
    "user/too_many_requests/query_quota_exceeded",
    `This workspace has used its ${queriesPerHour} analytics queries of the hour.`,
  );
}

function absent(summary: string) {
  return procedure({
    summary,
    input: Input,
    output: Output,
    refusals: [412, 422, 503],
    handle: () => {
      throw notConfigured();
    },
  });
}
