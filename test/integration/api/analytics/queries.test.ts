/** Queries of two workspaces on the real store, behind the guard and the condition on the workspace. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestAnalytics, type TestAnalytics } from "../../../support/analytics.ts";
import { encodeBatch, ratelimitRow, verificationRow } from "../../../support/analytics-rows.ts";
import { startTestApi, type TestApi } from "../../../support/api.ts";
import { hostileQueries } from "../../../support/hostile-queries.ts";

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
    await encodeBatch("key_verifications_v1", [
      ...spaces.map((key_space_id, i) =>
        verificationRow({ ...own, key_space_id, key_id: `key_${i}` }),
      ),
      ...Array.from({ length: 5 }, () => verificationRow({ ...other, key_space_id: "ks_a" })),
    ]),
    signal,
  );
  await analytics.store.insert(
    await encodeBatch("ratelimits_v1", [
      ...["ns_a", "ns_a", "ns_b"].map((namespace_id) => ratelimitRow({ ...own, namespace_id })),
      ...Array.from({ length: 5 }, () => ratelimitRow({ ...other, namespace_id: "ns_a" })),
    ]),
    signal,
  );
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
    const created = await api.call("apis.createApi", { name: "shop" }, ours.rootKey);
    const { apiId } = created.body.data as { apiId: string };
    const { rows } = await api.database.query("SELECT key_space_id FROM apis WHERE id = $1", [
      apiId,
    ]);
    const batch = [
      verificationRow({
        workspace_id: ours.id,
        key_space_id: rows[0].key_space_id,
        key_id: "key_shop",
      }),
    ];
    await analytics.store.insert(
      await encodeBatch("key_verifications_v1", batch),
      new AbortController().signal,
    );
    const rootKey = await api.createRootKey(ours.id, [`api.${apiId}.read_analytics`]);

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
