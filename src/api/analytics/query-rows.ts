/** analytics.getVerifications and getRatelimits: a caller's query on one family of tables. */
import { type Call, procedure } from "#api/procedure.ts";
import type { EngineQuery, Row } from "./engine/engine-client.ts";
import { EngineError } from "./engine/engine-error.ts";
import type { AnalyticsParts } from "./parts.ts";
import { conditionFor, ofWorkspace } from "./query/access.ts";
import { notConfigured, toApiError } from "./query/answer.ts";
import { spendQuery, spendSlowQuery } from "./query/quota.ts";
import { describeQueries } from "./query/reference.ts";
import type { TakeTurn } from "./query/turns.ts";
import { type QueryExample, QueryInput, QueryOutput } from "./schemas.ts";
import { guardQuery } from "./sql/guard.ts";
import { type QueryFamily, queryFamilies, tablesOf } from "./sql/tables.ts";

/** All procedures share `takeTurn`, which bounds the concurrent queries of a workspace. */
type QueryParts = { parts: AnalyticsParts; takeTurn: TakeTurn };

export function getVerifications(shared: QueryParts) {
  return query(shared, "verifications", {
    summary: "Reads verifications of keys by SQL.",
    example: {
      body: {
        query: "SELECT outcome, count() AS n FROM key_verifications_v1 GROUP BY outcome",
      },
      data: [
        { outcome: "VALID", n: 1_204 },
        { outcome: "RATE_LIMITED", n: 17 },
      ],
    },
  });
}

export function getRatelimits(shared: QueryParts) {
  return query(shared, "ratelimits", {
    summary: "Reads rate limit decisions by SQL.",
    example: {
      body: {
        query:
          "SELECT identifier, count() AS n FROM ratelimits_v1 WHERE NOT passed GROUP BY identifier",
      },
      data: [{ identifier: "user_42", n: 17 }],
    },
  });
}

type Words = { summary: string; example: QueryExample };

function query(shared: QueryParts, family: QueryFamily, words: Words) {
  const { parts } = shared;
  const tables = tablesOf(family);
  return procedure({
    ...words,
    description: () => describeQueries(family, parts.analytics?.retention),
    input: QueryInput,
    output: QueryOutput,
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

/** A second barrier, enforced by the store: a filter for every table, whether the query reads it or not. */
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
