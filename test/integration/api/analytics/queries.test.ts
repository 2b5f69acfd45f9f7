/** Queries of two workspaces on the real store, behind the guard and the condition on the workspace. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestAnalytics, type TestAnalytics } from "../../../support/api/analytics.ts";
import { encodeBatch, ratelimitRow, verificationRow } from "../../../support/api/analytics-rows.ts";
import { startTestApi, type TestApi } from "../../../support/api/api.ts";
import { hostileQueries } from "../../../support/api/hostile-queries.ts";

let analytics: TestAnalytics;
let api: TestApi;
let ours: { id: string; rootKey: string };

beforeAll(async () => {
  analytics = await startTestAnalytics();
  api = await startTestApi({ analytics });
  ours = await api.createWorkspace();
  await insertRows();
});

afterAll(async () => {
  await api?.stop();
  await analytics?.stop();
});

/** Three rows of ours in two key spaces and namespaces, and five of somebody else's. */
async function insertRows(): Promise<void> {
  const signal = new AbortController().signal;
  const own = { workspace_id: ours.id };
  const other = { workspace_id: "ws_other", key_id: "key_secret", identifier: "secret" };
  const spaces = ["ks_a", "ks_a", "ks_b"];
  await analytics.store.insert(
    encodeBatch("key_verifications_v1", [
      ...spaces.map((key_space_id, i) =>
        verificationRow({ ...own, key_space_id, key_id: `key_${i}` }),
      ),
      ...Array.from({ length: 5 }, () =>
        verificationRow({ ...other, key_space_id: "ks_a", external_id: "secret" }),
      ),
    ]),
    signal,
  );
  await analytics.store.insert(
    encodeBatch("ratelimits_v1", [
      ...["ns_a", "ns_a", "ns_b"].map((namespace_id) => ratelimitRow({ ...own, namespace_id })),
      ...Array.from({ length: 5 }, () => ratelimitRow({ ...other, namespace_id: "ns_a" })),
    ]),
    signal,
  );
}

/** An API of ours with one verification, and a root key that may read its analytics alone. */
async function createShop(): Promise<{ rootKey: string }> {
  const created = await api.call("apis.createApi", { name: "shop" }, ours.rootKey);
  const { apiId } = created.body.data as { apiId: string };
  const { rows } = await api.database.query("SELECT key_space_id FROM apis WHERE id = $1", [apiId]);
  const batch = [
    verificationRow({
      workspace_id: ours.id,
      key_space_id: rows[0].key_space_id,
      key_id: "key_shop",
    }),
  ];
  await analytics.store.insert(
    encodeBatch("key_verifications_v1", batch),
    new AbortController().signal,
  );
  const rootKey = await api.createRootKey(ours.id, [`api.${apiId}.read_analytics`]);
  return { rootKey };
}

const ask = (query: string, procedure = "getVerifications", rootKey = ours.rootKey) =>
  api.call(`analytics.${procedure}`, { query }, rootKey);

describe("a query sees the rows of its own workspace alone", () => {
  it.each([
    "SELECT key_id FROM key_verifications_v1",
    "SELECT * FROM key_verifications_v1",
    "SELECT key_id FROM key_verifications_v1 WHERE workspace_id = 'ws_other' OR 1 = 1",
    "SELECT key_id, 'ws_other' AS workspace_id FROM key_verifications_v1",
    "SELECT key_id AS workspace_id FROM key_verifications_v1 WHERE workspace_id = 'key_secret' OR 1",
    "SELECT b.key_id FROM key_verifications_v1 AS a CROSS JOIN key_verifications_v1 AS b",
    "SELECT b.key_id FROM key_verifications_v1 a LEFT JOIN key_verifications_v1 b ON 1 = 1",
    "SELECT b.key_id FROM key_verifications_v1 a FULL JOIN key_verifications_v1 b ON a.key_id = b.outcome",
    "SELECT * FROM key_verifications_v1 UNION ALL SELECT * FROM key_verifications_v1",
    "WITH a AS (SELECT * FROM key_verifications_v1) SELECT * FROM a",
    "SELECT * FROM (SELECT * FROM (SELECT * FROM key_verifications_v1))",
    "SELECT (SELECT groupArray(key_id) FROM key_verifications_v1) AS keys",
    "SELECT 1 FROM key_verifications_v1 WHERE 'key_secret' IN (SELECT key_id FROM key_verifications_v1)",
    "SELECT groupUniqArray(key_id) FROM key_verifications_v1 HAVING has(groupUniqArray(key_id), 'key_secret')",
    "SELECT * FROM key_verifications_per_minute_v1",
    "SELECT key_id FROM key_verifications_per_hour_v1",
    "SELECT key_id FROM key_verifications_per_day_v1 AS key_verifications_v1",
    "SELECT key_id FROM key_verifications_per_month_v1",
    "SELECT k FROM key_verifications_v1 ARRAY JOIN [key_id] AS k",
    "SELECT max(key_id), min(key_id), any(key_id) FROM key_verifications_v1",
    "SELECT key_id FROM key_verifications_v1 EXCEPT SELECT 'key_0'",
    "WITH 'ws_other' AS workspace_id SELECT key_id, workspace_id FROM key_verifications_v1",
    "WITH 'ws_other' AS workspace_id SELECT * FROM (SELECT * FROM key_verifications_v1)",
    "WITH 1 = 1 AS workspace_id, 'ws_other' AS key_space_id SELECT * FROM (SELECT key_id FROM key_verifications_v1 WHERE workspace_id)",
    "WITH (SELECT groupArray(key_id) FROM key_verifications_v1) AS keys SELECT keys, key_id FROM key_verifications_v1",
    "WITH 'key_secret' AS k SELECT count() AS n FROM key_verifications_v1 WHERE key_id = k HAVING n > 0",
    "WITH a AS (SELECT key_id AS workspace_id FROM key_verifications_v1) SELECT workspace_id FROM a",
    "SELECT workspace_id AS w, 'ws_other' AS workspace_id, key_id FROM key_verifications_v1 WHERE workspace_id = 'ws_other'",
    "SELECT key_id, row_number() OVER (PARTITION BY workspace_id ORDER BY time) AS r FROM key_verifications_v1",
    "SELECT first_value(key_id) OVER (ORDER BY key_id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS k FROM key_verifications_v1",
    "SELECT groupArray(key_id) OVER () AS keys FROM key_verifications_v1",
    "SELECT lagInFrame(key_id) OVER (ORDER BY time) AS k FROM key_verifications_v1",
    "SELECT topK(1000)(key_id) AS k FROM key_verifications_v1",
    "SELECT sumMap([key_id], [1]) AS k FROM key_verifications_v1",
    "SELECT CAST(key_id AS Nullable(String)) AS k FROM key_verifications_v1",
    "SELECT key_id FROM key_verifications_v1 LIMIT 5 BY workspace_id LIMIT 100",
    "SELECT key_id, 1 AS n FROM key_verifications_v1 ORDER BY n WITH FILL FROM 0 TO 5",
    "SELECT key_id -- FROM nowhere\n FROM key_verifications_v1 /* WHERE 0 */",
    "WITH top AS (SELECT * FROM key_verifications_v1) SELECT key_id FROM top",
    "WITH final AS (SELECT key_id AS sample FROM key_verifications_v1) SELECT final.sample FROM final",
    "WITH from AS (SELECT 1 AS x) SELECT key_id AS from FROM key_verifications_v1 AS where WHERE key_id = 'key_secret' OR 1",
    "SELECT key_id AS prewhere, 'ws_other' AS workspace_id FROM key_verifications_v1 AS final",
    "SELECT 1 AS settings, key_id AS format FROM key_verifications_v1 AS union",
    "SELECT key_id, count() AS n FROM key_verifications_v1 GROUP BY ALL",
    "SELECT workspace_id AS all, key_id AS any FROM key_verifications_v1 GROUP BY ALL ORDER BY any",
    "SELECT key_id FROM key_verifications_v1 EXCEPT DISTINCT SELECT 'key_0'",
    "SELECT key_id FROM key_verifications_v1 INTERSECT DISTINCT SELECT 'key_secret'",
    "SELECT arrayMap(final -> final, [key_id]) AS k FROM key_verifications_v1",
    "SELECT * FROM key_verifications_per_day_v1",
    "SELECT time, key_id FROM key_verifications_per_day_v1 WHERE time >= today() - 30 OR 1",
  ])("%s", async (query) => {
    const { status, body } = await ask(query);

    expect(status).toBe(200);
    expect(JSON.stringify(body.data)).not.toContain("key_secret");
  });

  it("of rate limits, too", async () => {
    const { body } = await ask(
      "SELECT count() AS n, groupUniqArray(identifier) AS who FROM ratelimits_v1",
      "getRatelimits",
    );

    expect(body.data).toEqual([{ n: 3, who: ["user_1"] }]);
  });

  it("counts all of its own", async () => {
    const { body } = await ask("SELECT count() AS n FROM key_verifications_v1");

    expect(body.data).toEqual([{ n: 3 }]);
  });
});

describe("a word of the grammar as a name means what it says:", () => {
  const table = "key_verifications_v1";

  it.each([
    [
      `WITH top AS (SELECT key_id FROM ${table}) SELECT top.key_id AS final FROM top ORDER BY final LIMIT 1`,
      { final: "key_0" },
    ],
    [`SELECT count() AS sample FROM ${table} ORDER BY sample`, { sample: 3 }],
    [
      `SELECT 3 - toInt32(substring(key_id, 5)) AS n, key_id AS "all" FROM ${table} ORDER BY "all" LIMIT 1`,
      { n: 3, all: "key_0" },
    ],
    [`SELECT max(key_id) AS from, 2 AS limit FROM ${table} LIMIT 1`, { from: "key_2", limit: 2 }],
    [
      `SELECT key_space_id AS any, count() AS left FROM ${table} GROUP BY ALL ORDER BY left LIMIT 1`,
      { any: "ks_b", left: 1 },
    ],
    ["SELECT interval - 1 AS window FROM (SELECT 5 AS interval)", { window: 4 }],
  ])("%s", async (query, row) => {
    expect((await ask(query)).body.data).toEqual([row]);
  });
});

describe("the time of an event is compared with", () => {
  const count = "SELECT count() AS n FROM key_verifications_v1";
  const sum = (rollup: string) => `SELECT sum(count) AS n FROM key_verifications_per_${rollup}_v1`;
  const past = "now() - INTERVAL 7 DAY";
  const future = "now() + INTERVAL 1 DAY";
  const from = Date.now() - 7 * 86_400_000;

  it.each([
    [3, `${count} WHERE time >= ${past}`],
    [0, `${count} WHERE time >= ${future}`],
    [0, `${count} WHERE time < ${past}`],
    [3, `${count} WHERE ${past} <= time AND ${future} > time`],
    [3, `${count} WHERE time BETWEEN ${past} AND ${future}`],
    [0, `${count} WHERE time NOT BETWEEN ${past} AND ${future}`],
    [3, `${count} WHERE time >= today() AND time < today() + 1`],
    [0, `${count} WHERE time > toDate(now()) + INTERVAL 1 DAY`],
    [3, `${count} WHERE time >= toUnixTimestamp(${past})`],
    [0, `${count} WHERE time >= toUnixTimestamp(${future})`],
    [3, `${count} WHERE time >= toUnixTimestamp(${past}) * 1000`],
    [3, `${count} WHERE time >= ${from}`],
    [3, `${count} WHERE time >= ${Math.floor(from / 1_000)}`],
    [0, `${count} WHERE time < ${Math.floor(from / 1_000)}`],
    [0, `${count} WHERE time >= '2099-01-01'`],
    [3, `${count} WHERE time < '2099-01-01 00:00:00'`],
    [3, `${count} AS v WHERE v.time >= ${past}`],
    [3, `${count.replace("count()", "countIf(time >= now() - INTERVAL 1 DAY)")}`],
    [0, `${count.replace("count()", "countIf(time < now() - INTERVAL 1 DAY)")}`],
    [3, `SELECT count() AS n FROM (SELECT time AS t FROM key_verifications_v1) WHERE t >= ${past}`],
    [
      0,
      `WITH a AS (SELECT * FROM key_verifications_v1) SELECT count() AS n FROM a WHERE time < ${past}`,
    ],
    [0, `WITH ${past} AS since ${count} WHERE time < since`],
    [3, `SELECT count() AS n FROM key_verifications_v1 HAVING max(time) >= ${past}`],
    [3, `${count} WHERE toDate(time) = today()`],
    [3, `${count} WHERE toStartOfHour(time) >= ${past}`],
    [3, `${count} WHERE CAST(time AS DateTime) >= ${past}`],
    [3, `${count} WHERE dateDiff('day', time, now()) < 7`],
    [0, `${count} WHERE time IN (today())`],
    [3, `${count} WHERE toStartOfDay(time) IN (today())`],
    [3, `${count} WHERE toStartOfDay(time) IN (today(), toUnixTimestamp(${past}))`],
    [3, `${count} WHERE toDate(time) NOT IN (yesterday(), '1999-01-01 00:00:00')`],
    [3, `${count} WHERE time IN (SELECT fromUnixTimestamp64Milli(time) FROM key_verifications_v1)`],
    [3, `${count} WHERE time NOT IN ('2026-11-22', now())`],
    [3, `${sum("day")} WHERE time IN (toUnixTimestamp(today()))`],
    [3, `${sum("day")} WHERE time IN (toDateTime(today()), now64())`],
    [0, `${sum("day")} WHERE time IN ('2026-01-01 00:00:00')`],
    [
      3,
      `${sum("hour")} WHERE time IN (toUnixTimestamp(toStartOfHour(now())) * 1000, now() - INTERVAL 0 DAY, toStartOfHour(now()))`,
    ],
    [3, `${sum("hour")} WHERE time IN (SELECT toStartOfHour(max(time)) FROM key_verifications_v1)`],
    ...["minute", "hour", "day", "month"].flatMap((rollup): [number, string][] => [
      [3, `${sum(rollup)} WHERE time >= now() - INTERVAL 40 DAY`],
      [0, `${sum(rollup)} WHERE time >= ${future}`],
      [3, `${sum(rollup)} WHERE time >= ${Date.now() - 40 * 86_400_000}`],
      [0, `${sum(rollup)} WHERE time >= ${Date.now() + 86_400_000}`],
      [0, `${sum(rollup)} WHERE time >= toUnixTimestamp(${future})`],
      [0, `${sum(rollup)} WHERE time >= '2099-01-01 00:00:00'`],
      [
        3,
        `${sum(rollup)} WHERE time >= toDate(now() - INTERVAL 40 DAY) AND time <= toDate(now()) + 1`,
      ],
    ]),
  ])("%i found by %s", async (n, query) => {
    const { body } = await ask(query);

    expect(body).toMatchObject({ data: n === 0 ? expect.anything() : [{ n }] });
    expect((body.data as { n: number }[])[0]?.n ?? 0).toBe(n);
  });
});

describe("a published example is answered", () => {
  const day = "key_verifications_per_day_v1";

  it.each([
    [
      31,
      `SELECT time, SUM(count) as total FROM ${day} WHERE time >= toDate(now() - INTERVAL 30 DAY) AND time <= toDate(now())
       GROUP BY time ORDER BY time ASC WITH FILL FROM toDate(now() - INTERVAL 30 DAY) TO toDate(now()) + 1 STEP INTERVAL 1 DAY`,
    ],
    [
      169,
      `SELECT time, SUM(count) as total FROM key_verifications_per_hour_v1 WHERE time >= toStartOfHour(now() - INTERVAL 7 DAY)
       GROUP BY time ORDER BY time ASC WITH FILL FROM toStartOfHour(now() - INTERVAL 7 DAY)
       TO toStartOfHour(now() + INTERVAL 1 HOUR) STEP INTERVAL 1 HOUR`,
    ],
    [
      13,
      `SELECT time, SUM(count) as total FROM key_verifications_per_month_v1 GROUP BY time ORDER BY time ASC
       WITH FILL FROM toDate(toStartOfMonth(now() - INTERVAL 12 MONTH)) TO toDate(toStartOfMonth(now())) + 1 STEP INTERVAL 1 MONTH`,
    ],
    [
      1,
      `SELECT date, verifications, avg(verifications) OVER (ORDER BY date ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) as moving_avg_7d
       FROM (SELECT time as date, SUM(count) as verifications FROM ${day} WHERE time >= now() - INTERVAL 60 DAY GROUP BY date) ORDER BY date`,
    ],
    [
      1,
      `SELECT time as date, SUM(spent_credits) as credits_used, credits_used * 0.001 as estimated_cost  -- $0.001 per credit
       FROM ${day} GROUP BY date ORDER BY date`,
    ],
    [
      1,
      `WITH first_seen AS (SELECT key_id, min(time) as first_verification FROM ${day} GROUP BY key_id)
       SELECT toDate(kv.time) as date, SUM(CASE WHEN kv.time = fs.first_verification THEN kv.count ELSE 0 END) as new_users
       FROM ${day} kv JOIN first_seen fs ON kv.key_id = fs.key_id WHERE kv.time >= now() - INTERVAL 30 DAY GROUP BY date ORDER BY date`,
    ],
    [
      1,
      "SELECT toStartOfHour(toDateTime(time / 1000)) as hour, COUNT(*) AS n FROM key_verifications_v1 WHERE time >= toUnixTimestamp(now() - INTERVAL 24 HOUR) * 1000 GROUP BY hour",
    ],
    [
      1,
      "SELECT toStartOfDay(time, 'Europe/Berlin') AS d, count() AS n FROM key_verifications_v1 GROUP BY d",
    ],
    [
      3,
      "SELECT key_id, time FROM key_verifications_v1 ORDER BY time DESC LIMIT 1 BY key_id LIMIT 10",
    ],
  ])("with %i rows: %s", async (rows, query) => {
    const { status, body } = await ask(query);

    expect({ status, error: body.error }).toEqual({ status: 200, error: undefined });
    expect(body.data).toHaveLength(rows);
  });

  it.each([
    "toHour(time)",
    "toMinute(time)",
    "toSecond(time)",
    "toStartOfSecond(time)",
    "toStartOfHour(time)",
    "toStartOfFiveMinutes(time)",
    "toStartOfInterval(time, INTERVAL 1 HOUR)",
    "date_trunc('hour', time)",
    "toHour(today())",
    "toHour(toStartOfMonth(time) + 1)",
    "toTimeZone(time, 'Europe/Berlin')",
    "toUnixTimestamp64Milli(time)",
    "time::String",
    "time::DateTime('Europe/Berlin')",
    "-count::Int32",
  ])("by the hour where there are only days: %s", async (expression) => {
    for (const rollup of ["minute", "day", "month"]) {
      const { status, body } = await ask(
        `SELECT ${expression} AS x FROM key_verifications_per_${rollup}_v1 LIMIT 1`,
      );

      expect({ status, error: body.error }).toEqual({ status: 200, error: undefined });
    }
  });

  it("with a day as a Date", async () => {
    const { body } = await ask(`SELECT DISTINCT time FROM ${day}`);

    expect(body.data).toEqual([{ time: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) }]);
  });
});

describe("the states of a summed-up table", () => {
  it("are answered by SELECT * as the numbers that they stand for", async () => {
    const { body } = await ask("SELECT * FROM key_verifications_per_hour_v1 AS h LIMIT 1");

    expect(body.data).toMatchObject([{ latency_avg: 1.5, latency_p75: 1.5, latency_p99: 1.5 }]);
  });

  it("can be merged, also by way of another query", async () => {
    const { body } = await ask(
      "WITH a AS (SELECT * FROM key_verifications_per_hour_v1) SELECT avgMerge(latency_avg) AS l FROM a",
    );

    expect(body.data).toEqual([{ l: 1.5 }]);
  });

  it.each([
    "SELECT latency_avg FROM key_verifications_per_hour_v1",
    "SELECT * FROM (SELECT * FROM key_verifications_per_hour_v1)",
    "SELECT any(latency_p99) AS l FROM key_verifications_per_hour_v1",
    "SELECT tuple(latency_avg) FROM key_verifications_per_hour_v1",
    "SELECT (latency_avg, 1) AS t FROM key_verifications_per_hour_v1",
    "SELECT [latency_avg][1] FROM key_verifications_per_hour_v1",
    "SELECT groupArray(latency_avg) FROM key_verifications_per_hour_v1",
    "SELECT toString(latency_avg) FROM key_verifications_per_hour_v1",
    "SELECT latency_avg::String FROM key_verifications_per_hour_v1",
    "SELECT if(1, latency_avg, latency_avg) FROM key_verifications_per_hour_v1",
    "SELECT CASE WHEN 1 THEN latency_avg ELSE latency_avg END FROM key_verifications_per_hour_v1",
    "SELECT arrayMap(x -> latency_avg, [1]) FROM key_verifications_per_hour_v1",
    "SELECT (SELECT any(latency_avg) FROM key_verifications_per_hour_v1)",
    "SELECT t FROM (SELECT tuple(latency_avg) AS t FROM key_verifications_per_hour_v1)",
  ])("are refused with how to read them in %s", async (query) => {
    const { status, body } = await ask(query);

    expect({ status, detail: body.error.detail }).toEqual({
      status: 400,
      detail: expect.stringContaining("Merge("),
    });
  });
});

it("answers whole numbers with all their digits", async () => {
  const sql =
    "SELECT toInt64(9007199254740993) AS a, toUInt64(18446744073709551615) AS b, 0.5 AS c";

  const rows = await analytics.store.query({ sql, filters: {} });
  const answer = await fetch(`${api.url}/v2/analytics.getVerifications`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${ours.rootKey}` },
    body: JSON.stringify({ query: sql }),
  });

  expect(JSON.stringify(rows)).toBe('[{"a":9007199254740993,"b":18446744073709551615,"c":0.5}]');
  expect(await answer.text()).toContain(
    '[{"a":9007199254740993,"b":18446744073709551615,"c":0.5}]',
  );
});

it("a query that fails midway leaves nothing of its answer to the next one", async () => {
  const rows = "SELECT 'key_secret' AS k";
  const late = "toString(max(intDiv(1, 100000000 - number)))";
  const failing = `${rows} UNION ALL SELECT ${late} FROM numbers(200000000)`;
  const rounds = Array.from({ length: 4 });

  for (const _ of rounds) {
    await expect(analytics.store.query({ sql: failing, filters: {} })).rejects.toThrow("zero");
    const { body } = await ask("SELECT count() AS n FROM key_verifications_v1");

    expect(body.data).toEqual([{ n: expect.any(Number) }]);
  }
});

describe("an expression that fails on the rows of others is not computed for them", () => {
  const table = "key_verifications_v1";
  const fails = "toInt64(concat('1', external_id)) = 1";

  it.each([
    `SELECT count() AS n FROM ${table} WHERE ${fails}`,
    `SELECT count() AS n FROM ${table} WHERE intDiv(1, if(key_id = 'key_secret', 0, 1)) = 1`,
    `SELECT count() AS n FROM ${table} WHERE external_id::String != 'x' AND CAST(concat('1', external_id) AS Int64) = 1`,
    `SELECT count() AS n FROM (SELECT toInt64(concat('1', external_id)) AS k FROM ${table}) WHERE k = 1`,
    `WITH a AS (SELECT * FROM ${table} WHERE ${fails}) SELECT count() AS n FROM a`,
    `SELECT n FROM (SELECT toInt64(concat('1', external_id)) AS k, count() AS n FROM ${table} GROUP BY k HAVING k = 1)`,
    `SELECT count() AS n FROM ${table} a JOIN (SELECT 1 AS one) b ON toInt64(concat('1', a.external_id)) = b.one`,
    `SELECT sum(toInt64(concat('1', external_id))) AS n FROM ${table}`,
    `SELECT max(r) AS n FROM (SELECT row_number() OVER (ORDER BY toInt64(concat('1', external_id))) AS r FROM ${table})`,
    `SELECT sum(count) AS n FROM key_verifications_per_hour_v1 WHERE ${fails}`,
    `SELECT sum(count) AS n FROM key_verifications_per_day_v1 WHERE ${fails}`,
  ])("%s", async (query) => {
    const { status, body } = await ask(query);

    expect({ status, data: body.data }).toEqual({ status: 200, data: [{ n: 3 }] });
  });

  it("nor for those of another API, with the permission for one", async () => {
    const { rootKey } = await createShop();
    const query = `SELECT count() AS n FROM ${table} WHERE intDiv(1, if(key_id = 'key_shop', 1, 0)) = 1`;

    const { body } = await ask(query, "getVerifications", rootKey);

    expect(body.data).toEqual([{ n: 1 }]);
  });
});

describe("hostile queries", () => {
  const all = Object.values(hostileQueries).flat();

  it(`are refused with 400, all ${all.length}`, async () => {
    const answers = await Promise.all(all.map((query) => ask(query)));

    const let_through = all.filter((_, i) => answers[i]?.status !== 400);
    expect(let_through).toEqual([]);
    expect(answers.filter(({ body }) => body.data !== undefined)).toEqual([]);
  });
});

describe("permissions", () => {
  it("of single APIs let their key spaces be seen alone", async () => {
    const { rootKey } = await createShop();

    const { body } = await ask(
      "SELECT key_id FROM key_verifications_v1",
      "getVerifications",
      rootKey,
    );

    expect(body.data).toEqual([{ key_id: "key_shop" }]);
  });

  it("of an API that is not there let nothing be seen", async () => {
    const rootKey = await api.createRootKey(ours.id, ["api.api_none.read_analytics"]);

    const { status, body } = await ask(
      "SELECT count() AS n FROM key_verifications_v1",
      "getVerifications",
      rootKey,
    );

    expect({ status, data: body.data }).toEqual({ status: 200, data: [{ n: 0 }] });
  });

  it("are wanted", async () => {
    const rootKey = await api.createRootKey(ours.id, ["api.*.read_key"]);

    const { status } = await ask("SELECT 1", "getVerifications", rootKey);

    expect(status).toBe(403);
  });
});

it.each([
  [
    422,
    "SELECT a.time FROM key_verifications_v1 a, key_verifications_v1 b, key_verifications_v1 c, key_verifications_v1 d, key_verifications_v1 e, key_verifications_v1 f, key_verifications_v1 g, key_verifications_v1 h, key_verifications_v1 i",
  ],
  [400, "SELECT nothing FROM key_verifications_v1"],
  [400, "SELECT time FROM key_verifications_per_hour_v1 WHERE time >= now() - INTERVAL 3 YEAR"],
])(
  "answers %i to what costs too much, cannot be, or is no longer kept",
  async (expected, query) => {
    const { status } = await ask(query);

    expect(status).toBe(expected);
  },
);

it.each(["getGatewayRequests", "getRuntimeLogs"])("answers 412 to %s", async (procedure) => {
  const { status, body } = await ask("SELECT 1", procedure);

  expect({ status, type: body.error.type }).toEqual({
    status: 412,
    type: expect.stringContaining("analytics_not_configured"),
  });
});
