/** The procedures of `analytics`. */
import { z } from "zod";
import type { Limiter } from "#api/limiter.ts";
import { type Call, type Procedures, procedure } from "#api/procedure.ts";
import { text } from "#api/schemas/schema.ts";
import type { Database } from "#kernel/database.ts";
import { conditionFor, ofWorkspace } from "./access.ts";
import { notConfigured, toApiError } from "./answer.ts";
import type { EngineQuery, Row } from "./engine-client.ts";
import { EngineError } from "./engine-error.ts";
import { spendQuery, spendSlowQuery } from "./quota.ts";
import { describeQueries } from "./reference.ts";
import type { Retention } from "./retention.ts";
import { guardQuery } from "./sql/guard.ts";
import { type QueryFamily, queryFamilies, tablesOf } from "./sql/tables.ts";
import { createTurns, type TakeTurn } from "./turns.ts";

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

const Input = z.strictObject({ query: text() });
const Output = z.array(z.record(z.string(), z.unknown()));

export function analyticsProcedures(parts: AnalyticsParts): Procedures {
  const shared = { parts, takeTurn: createTurns() };
  return {
    getGatewayRequests: absent("Requests that a gateway served; not kept by this server."),
    getRatelimits: query(shared, "ratelimits", "Reads rate limit decisions by SQL."),
    getRuntimeLogs: absent("Logs of deployed applications; not kept by this server."),
    getVerifications: query(shared, "verifications", "Reads verifications of keys by SQL."),
  };
}

type QueryParts = { parts: AnalyticsParts; takeTurn: TakeTurn };

function query(shared: QueryParts, family: QueryFamily, summary: string) {
  const { parts } = shared;
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
      await spendQuery(parts.limiter, call);
      const filters = filtersFor(family, database, call);
      const ask = (waitAtMostMs: number) => store.query({ sql, filters, waitAtMostMs });
      return { data: await run(shared, call, ask) };
    },
  });
}

type Ask = (waitAtMostMs: number) => Promise<Row[]>;

async function run({ takeTurn, parts }: QueryParts, call: Call, ask: Ask) {
  try {
    return await takeTurn(call.workspaceId, ask);
  } catch (error) {
    if (error instanceof EngineError && error.failure === "timeout") {
      await spendSlowQuery(parts.limiter, call);
    }
    throw toApiError(error);
  }
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
