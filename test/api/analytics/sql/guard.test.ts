import { describe, expect, it } from "vitest";
import { retentionFrom } from "#api/analytics/retention.ts";
import { guardQuery } from "#api/analytics/sql/guard.ts";
import { type QueryFamily, tablesOf } from "#api/analytics/sql/tables.ts";
import { ApiError } from "#api/error.ts";
import { hostileQueries } from "../../../support/api/hostile-queries.ts";

const nowMs = Date.UTC(2026, 0, 31, 12);
const own = "workspace_id = 'ws_1'";
const rowsOf = (table: string) => `(SELECT * FROM vedette.${table} PREWHERE ${own})`;

function guard(query: string, family: QueryFamily = "verifications"): string {
  const tables = tablesOf(family);
  const retention = retentionFrom(30);
  return guardQuery(query, { database: "vedette", tables, condition: own, retention, nowMs });
}

/** The end of the code of the refusal, or the statement that was let through. */
function outcomeOf(query: string): string {
  try {
    return guard(query);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.code.split("/").at(-1) ?? "";
  }
}

describe.each(Object.entries(hostileQueries))("%s", (code, queries) => {
  it.each(queries.map((query) => [query.slice(0, 120), query]))("refuses %s", (_, query) => {
    expect(outcomeOf(query)).toBe(code);
  });
});

describe("what is allowed", () => {
  it.each([
    [
      "SELECT outcome, count() AS n FROM key_verifications_v1 WHERE time >= 1767225600000 GROUP BY outcome ORDER BY n DESC LIMIT 10",
      `SELECT \`outcome\`, count() AS \`n\` FROM ${rowsOf("key_verifications_v1")} AS \`key_verifications_v1\` WHERE (\`time\` >= 1767225600000) GROUP BY \`outcome\` ORDER BY \`n\` DESC LIMIT 10`,
    ],
    [
      "select COUNT(*) from key_verifications_v1;",
      `SELECT count(*) FROM ${rowsOf("key_verifications_v1")} AS \`key_verifications_v1\``,
    ],
    [
      "SELECT quantile(0.99)(latency) p FROM key_verifications_v1 AS v",
      `SELECT quantile(0.99)(\`latency\`) AS \`p\` FROM ${rowsOf("key_verifications_v1")} AS \`v\``,
    ],
    [
      "SELECT CASE WHEN outcome = 'VALID' THEN 1 ELSE 0 END ok FROM key_verifications_v1",
      `SELECT (CASE WHEN (\`outcome\` = 'VALID') THEN 1 ELSE 0 END) AS \`ok\` FROM ${rowsOf("key_verifications_v1")} AS \`key_verifications_v1\``,
    ],
    [
      "WITH a AS (SELECT key_id FROM key_verifications_v1) SELECT * FROM a WHERE key_id LIKE 'k%' OR key_id IS NOT NULL",
      `WITH \`named query 1\` AS (SELECT \`key_id\` FROM ${rowsOf("key_verifications_v1")} AS \`key_verifications_v1\`) SELECT * FROM \`named query 1\` AS \`a\` WHERE ((\`key_id\` LIKE 'k%') OR (\`key_id\` IS NOT NULL))`,
    ],
    [
      "SELECT arrayFilter(x -> x != 'a', tags)[1] FROM key_verifications_v1 ARRAY JOIN tags AS tag",
      `SELECT arrayFilter(\`x\` -> (\`x\` != 'a'), \`tags\`)[1] FROM ${rowsOf("key_verifications_v1")} AS \`key_verifications_v1\` ARRAY JOIN \`tags\` AS \`tag\``,
    ],
    [
      "SELECT 'it''s', 'a\\\\b' FROM key_verifications_v1",
      `SELECT 'it\\'s', 'a\\\\b' FROM ${rowsOf("key_verifications_v1")} AS \`key_verifications_v1\``,
    ],
    [
      "SELECT a.key_id FROM key_verifications_v1 a JOIN key_verifications_per_day_v1 AS b USING (key_id) WHERE a.time BETWEEN 1 AND 2 AND a.key_id NOT IN ('x', 'y')",
      undefined,
    ],
  ])("writes %s anew", (query, expected) => {
    const recent = query.replace("BETWEEN 1 AND 2", `BETWEEN ${nowMs - 1_000} AND ${nowMs}`);

    const sql = guard(recent);

    if (expected === undefined) expect(sql).toContain("NOT IN ('x', 'y')");
    else expect(sql).toBe(expected);
  });

  it("heads a column by the name that a WITH gave it, and writes that as one of our own", () => {
    expect(guard("WITH 'ws_2' AS workspace_id SELECT workspace_id FROM key_verifications_v1")).toBe(
      `WITH 'ws_2' AS \`named value 1\` SELECT \`named value 1\` AS \`workspace_id\` FROM ${rowsOf("key_verifications_v1")} AS \`key_verifications_v1\``,
    );
  });

  it("lets a query of rate limits read the tables of rate limits alone", () => {
    expect(guard("SELECT sum(passed) FROM ratelimits_per_hour_v1", "ratelimits")).toContain(
      "vedette.ratelimits_per_hour_v1",
    );
    expect(() => guard("SELECT 1 FROM key_verifications_v1", "ratelimits")).toThrow(
      "There is no table",
    );
  });
});

describe("a word of the grammar is a name where nothing else can be", () => {
  const words = `select from where group order by having limit offset union except intersect distinct on using join
    inner left right full outer cross array with as and or not in between like ilike is into all values settings format
    prewhere sample final global any asof semi anti window qualify fetch top interval case end null cast exists`;
  const table = rowsOf("key_verifications_v1");

  it.each(words.split(/\s+/))("%s after AS", (word) => {
    expect(guard(`SELECT key_id AS ${word}, 1 AS n FROM key_verifications_v1 AS ${word}`)).toBe(
      `SELECT \`key_id\` AS \`${word}\`, 1 AS \`n\` FROM ${table} AS \`${word}\``,
    );
  });

  it.each(words.split(/\s+/))("%s before AS in a WITH, and then in quotes", (word) => {
    const query = `WITH ${word} AS (SELECT key_id FROM key_verifications_v1) SELECT key_id FROM "${word}"`;

    expect(guard(query)).toContain(`FROM \`named query 1\` AS \`${word}\``);
  });

  it.each(["top", "sample", "final", "any", "left", "right", "window", "array", "fetch", "global"])(
    "%s in an expression and after FROM",
    (word) => {
      const query = `WITH ${word} AS (SELECT 1 AS ${word}) SELECT ${word}.${word}, ${word} + 1 FROM ${word} GROUP BY ${word} ORDER BY ${word}`;

      expect(guard(query)).toBe(
        `WITH \`named query 1\` AS (SELECT 1 AS \`w\`) SELECT \`w\`.\`w\`, (\`w\` + 1) FROM \`named query 1\` AS \`w\` GROUP BY \`w\` ORDER BY \`w\``.replaceAll(
          "`w`",
          `\`${word}\``,
        ),
      );
    },
  );

  it("a column named interval is none of INTERVAL", () => {
    expect(guard("SELECT interval - 1, 2 AS interval ORDER BY interval DESC")).toBe(
      "SELECT (`interval` - 1), 2 AS `interval` ORDER BY `interval` DESC",
    );
    expect(guard("SELECT now() - INTERVAL -1 DAY, now() - INTERVAL n DAYS")).toBe(
      "SELECT (now() - INTERVAL (-1) DAY), (now() - INTERVAL `n` DAY)",
    );
  });

  it.each([
    "SELECT key_id AS FROM key_verifications_v1",
    "WITH 1 AS SELECT x",
    "SELECT ALL key_id",
  ])("a missing name is not made up: %s", (query) => {
    expect(outcomeOf(query)).toBe("invalid_analytics_query");
  });
});

it("groups by all columns", () => {
  expect(guard("SELECT outcome, count() FROM key_verifications_v1 GROUP BY ALL")).toBe(
    `SELECT \`outcome\`, count() FROM ${rowsOf("key_verifications_v1")} AS \`key_verifications_v1\` GROUP BY ALL`,
  );
});

it.each([
  ["GROUP BY outcome WITH TOTALS", "WITH TOTALS"],
  ["GROUP BY outcome WITH CUBE", "WITH CUBE"],
  ["GROUP BY ROLLUP(outcome)", "ROLLUP"],
  ["GROUP BY GROUPING SETS ((outcome))", "SETS"],
  ["LIMIT 1 WITH TIES", "WITH TIES"],
  ["WHERE EXISTS (SELECT 1)", "EXISTS"],
  ["WHERE 1 QUALIFY 1", "QUALIFY"],
  ["EXCEPT ALL SELECT 1", "ALL"],
  ["ASOF JOIN key_verifications_v1 AS b ON 1", "ASOF"],
  ["ORDER BY 1 FETCH FIRST 1 ROW ONLY", "FETCH"],
])("a refusal names its cause: %s", (clause, name) => {
  expect(() => guard(`SELECT outcome FROM key_verifications_v1 ${clause}`)).toThrow(name);
});

it.each(["* EXCEPT (key_id)", "* EXCLUDE (key_id)", "v.* EXCEPT key_id", "* REPLACE (1 AS n)"])(
  "names what it refuses, and what to write: %s",
  (columns) => {
    const word = columns.split(" ")[1];

    expect(() => guard(`SELECT ${columns} FROM key_verifications_v1 AS v`)).toThrow(
      `* ${word} is not allowed: name the columns`,
    );
  },
);

it("the refusal of TOP says to write LIMIT", () => {
  expect(() => guard("SELECT TOP 2 key_id FROM key_verifications_v1")).toThrow("write LIMIT");
});

describe("BETWEEN with bounds in different units", () => {
  const seconds = "toUnixTimestamp(now())";
  const bounds = "BETWEEN 1000000000000 AND 1000000000";

  it("compares with each bound in its unit", () => {
    expect(guard(`SELECT ${seconds} ${bounds}`)).toBe(
      "SELECT (((toInt64(toUnixTimestamp(now())) * 1000) >= 1000000000000) AND (toUnixTimestamp(now()) <= 1000000000))",
    );
  });

  it.each([6, 10, 21])("does not grow with each of %i levels", (depth) => {
    const query = Array.from({ length: depth }).reduce(
      (inner) => `ifNull(${seconds}, ${inner}) ${bounds}`,
      "1",
    );

    expect(outcomeOf(`SELECT ${query}`).length).toBeLessThan(4_096);
  });

  it("is refused when what is before it is long, with what to write instead", () => {
    const left = `ifNull(${seconds}, ${"1 + ".repeat(500)} 1)`;

    expect(() => guard(`SELECT ${left} ${bounds}`)).toThrow("write both of its bounds in");
    expect(guard(`SELECT ${left} BETWEEN 1000000000 AND 1000000001`)).toContain("BETWEEN");
  });
});

describe("a time before what is kept", () => {
  const raw = "SELECT count() FROM key_verifications_v1 WHERE";
  const hours = "SELECT sum(count) FROM key_verifications_per_hour_v1 WHERE";

  it.each([
    `${raw} time >= ${Date.UTC(2025, 11, 1)}`,
    `${raw} ${Date.UTC(2025, 11, 1)} < time`,
    `${raw} time BETWEEN ${Date.UTC(2025, 11, 1)} AND ${nowMs}`,
    `${raw} time > toUnixTimestamp64Milli(now64() - INTERVAL 60 DAY)`,
    `${raw} fromUnixTimestamp64Milli(time) >= '2025-12-01 00:00:00'`,
    `${raw} toDate(fromUnixTimestamp64Milli(time)) >= today() - 90`,
    `${raw} time >= toUnixTimestamp64Milli(subtractMonths(now64(), 3))`,
    `${hours} time >= now() - INTERVAL 2 YEAR`,
    `${hours} time >= toDateTime('2024-01-01 00:00:00')`,
    `${hours} time >= toStartOfMonth(now() - toIntervalMonth(20))`,
    // Before the first moment that a clock can tell.
    `${raw} time > 0 - 9000000000000000`,
    `${raw} time > 0 - 1e400`,
    `${hours} time >= now() - INTERVAL 999999999 YEAR`,
    `${hours} time >= today() - 999999999`,
  ])("is refused in %s", (query) => {
    expect(outcomeOf(query)).toBe("query_range_exceeds_retention");
  });

  it.each([
    `${raw} time >= ${Date.UTC(2026, 0, 10)}`,
    `${raw} time > toUnixTimestamp64Milli(now64() - INTERVAL 30 DAY)`,
    `${raw} time <= ${Date.UTC(2025, 0, 1)}`,
    `${hours} time >= now() - INTERVAL 60 DAY`,
    `${raw} latency >= 1`,
    `${raw} time > 1e400 - 1e400`,
    `${raw} time > 1e400`,
  ])("is not what %s asks for", (query) => {
    expect(() => guard(query)).not.toThrow();
  });
});
