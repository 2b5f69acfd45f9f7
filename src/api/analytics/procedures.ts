/** The namespace `analytics`: a caller's SQL query on one family of recorded rows. */
import { type EngineQuery, queryLimits, type Row } from "#api/analytics/engine/engine-client.ts";
import { EngineError } from "#api/analytics/engine/engine-error.ts";
import { columnsOf } from "#api/analytics/engine/schema.ts";
import { queryBounds } from "#api/analytics/sql/cursor.ts";
import { functionNames } from "#api/analytics/sql/functions.ts";
import { guardQuery } from "#api/analytics/sql/guard.ts";
import { maxFilledRows } from "#api/analytics/sql/order.ts";
import { type QueryFamily, queryFamilies, tablesOf } from "#api/analytics/sql/tables.ts";
import { writeOneOf, writeText } from "#api/analytics/sql/write.ts";
import { type Call, demand, type Procedures, procedure } from "#api/procedure.ts";
import type { Database } from "#kernel/database.ts";
import type { RecordedTable } from "./batch.ts";
import { type AnalyticsParts, type QueryExample, QueryInput, QueryOutput } from "./parts.ts";
import {
  createTurns,
  notConfigured,
  queriesPerHour,
  slowQueryCost,
  spendQuery,
  spendSlowQuery,
  type TakeTurn,
  toApiError,
} from "./query.ts";
import type { Retention } from "./retention.ts";

export function analyticsProcedures(parts: AnalyticsParts): Procedures {
  const shared = { parts, takeTurn: createTurns() };
  return {
    getGatewayRequests: getGatewayRequests(),
    getRatelimits: getRatelimits(shared),
    getRuntimeLogs: getRuntimeLogs(),
    getVerifications: getVerifications(shared),
  };
}

/** All procedures share `takeTurn`, which bounds the concurrent queries of a workspace. */
type QueryParts = { parts: AnalyticsParts; takeTurn: TakeTurn };

function getVerifications(shared: QueryParts) {
  return query(shared, "verifications", {
    summary: "Reads verifications of keys by SQL.",
    example: {
      body: { query: "SELECT outcome, count() AS n FROM key_verifications_v1 GROUP BY outcome" },
      data: [
        { outcome: "VALID", n: 1_204 },
        { outcome: "RATE_LIMITED", n: 17 },
      ],
    },
  });
}

function getRatelimits(shared: QueryParts) {
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

type QueryDescription = { summary: string; example: QueryExample };

function query(shared: QueryParts, family: QueryFamily, words: QueryDescription) {
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

type Access = {
  /** Type in the permissions: `<type>.<id>.read_analytics`. */
  type: "api" | "ratelimit";
  column: string;
  /** Selects the rows' ids for the ids in permissions. Ids of another workspace yield none. */
  find: string;
};

const accessTo: Record<QueryFamily, Access> = {
  verifications: {
    type: "api",
    column: "key_space_id",
    find: "SELECT key_space_id AS id FROM apis WHERE workspace_id = $1 AND id = ANY ($2)",
  },
  ratelimits: {
    type: "ratelimit",
    column: "namespace_id",
    find: "SELECT id FROM ratelimit_namespaces WHERE workspace_id = $1 AND id = ANY ($2)",
  },
};

/** Returns the condition on the rows that a caller may read, which is added to every table. */
function ofWorkspace(workspaceId: string): string {
  return `workspace_id = ${writeText(workspaceId)}`;
}

/** Throws the 403 for a caller without any permission to read it. */
async function conditionFor(family: QueryFamily, call: Call, database: Database): Promise<string> {
  const { type, column, find } = accessTo[family];
  const own = ofWorkspace(call.workspaceId);
  const all = `${type}.*.read_analytics`;
  if (call.grants.allow(all)) return own;
  const ids = idsIn(call.grants.names(), type);
  if (ids.length === 0) demand(call, all);
  const { rows } = await database.query<{ id: string }>(find, [call.workspaceId, ids]);
  return `${own} AND ${writeOneOf(
    column,
    rows.map(({ id }) => id),
  )}`;
}

function idsIn(names: Iterable<string>, type: string): string[] {
  const pattern = new RegExp(`^${type}\\.([^.*]+)\\.read_analytics$`);
  return [...names].flatMap((name) => pattern.exec(name)?.[1] ?? []);
}

const recorded = {
  verifications: "key_verifications_v1",
  ratelimits: "ratelimits_v1",
} as const satisfies Record<QueryFamily, RecordedTable>;

const code = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(", ");

/** Markdown. `retention` undefined: analytics are off. */
export function describeQueries(family: QueryFamily, retention: Retention | undefined): string {
  const { raw, summed } = columnsOf(recorded[family]);
  const tables = [...tablesOf(family).values()].map(({ name, kept }) =>
    retention === undefined ? `- \`${name}\`` : `- \`${name}\`, kept for ${retention[kept]} days`,
  );
  return `One SELECT in ClickHouse's dialect, over the rows of your workspace alone.

${tables.join("\n")}

\`${recorded[family]}\` has ${code(raw)}; its \`time\` is in unix milliseconds, and may be compared with a
DateTime, Date or text (\`time >= now() - INTERVAL 7 DAY\`) as well as with a number. The summed-up tables have
${code(summed)}; their \`time\` is a DateTime in UTC, per day and month a Date. They may hold several rows for the
same interval: sum them up. The latency columns are states, read by \`avgMerge\` and \`quantilesTDigestMerge\`;
\`SELECT *\` of one of these tables answers the numbers they stand for. Whole numbers have all their digits,
also those that a double rounds.

Allowed are WITH, subqueries, joins, \`GROUP BY ALL\`, UNION ALL, EXCEPT and INTERSECT, window functions (\`OVER\`), \`LIMIT n BY\`,
CAST and \`::\` to a plain type, comments, and \`ORDER BY … WITH FILL FROM … TO … STEP …\` of constants, up to
${maxFilledRows.toLocaleString("en-US")} rows; and these functions: ${code(functionNames)}.
After AS any word is a name; elsewhere one that is also a keyword, such as \`"order"\`, is in double quotes.

Limits: ${queryBounds.bytes / 1024} KiB of text, ${queryLimits.seconds} seconds, ${queryLimits.memoryBytes / 1e9} GB of
memory, ${queryLimits.rows.toLocaleString("en-US")} rows and ${queryLimits.answerBytes / 1024 / 1024} MiB of answer. SETTINGS and FORMAT are refused.
A workspace has ${queriesPerHour.toLocaleString("en-US")} queries an hour, of which two run at a time; one that used up
all its time counts as ${slowQueryCost}.`;
}

/** The wire contract has this and the next one; this server keeps no such rows. */
function getGatewayRequests() {
  return absent("Requests that a gateway served; not kept by this server.", {
    body: { query: "SELECT count() AS n FROM gateway_requests_v1" },
    data: [],
  });
}

function getRuntimeLogs() {
  return absent("Logs of deployed applications; not kept by this server.", {
    body: { query: "SELECT count() AS n FROM runtime_logs_v1" },
    data: [],
  });
}

function absent(summary: string, example: QueryExample) {
  return procedure({
    summary,
    input: QueryInput,
    output: QueryOutput,
    example,
    refusals: [412, 422, 503],
    handle: () => {
      throw notConfigured();
    },
  });
}
