/** The text on queries for the reference page, generated from what the guard enforces. */
import type { RecordedTable } from "#api/analytics/batch.ts";
import { queryLimits } from "#api/analytics/engine/engine-client.ts";
import { columnsOf } from "#api/analytics/engine/schema.ts";
import type { Retention } from "#api/analytics/retention.ts";
import { functionNames } from "#api/analytics/sql/functions.ts";
import { maxFilledRows } from "#api/analytics/sql/order.ts";
import type { QueryFamily } from "#api/analytics/sql/tables.ts";
import { tablesOf } from "#api/analytics/sql/tables.ts";
import { queryBounds } from "#api/analytics/sql/tokens.ts";
import { queriesPerHour, slowQueryCost } from "./quota.ts";

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
