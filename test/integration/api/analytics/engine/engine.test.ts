import { afterAll, beforeAll, expect, it } from "vitest";
import { Engine } from "#api/analytics/engine/engine.ts";
import { retentionFrom } from "#api/analytics/retention.ts";
import { createLog } from "#kernel/log.ts";
import { untilReady } from "../../../../support/api/analytics.ts";
import {
  encodeBatch,
  ratelimitRow,
  verificationRow,
} from "../../../../support/api/analytics-rows.ts";
import { makeTempDir } from "../../../../support/temp-dir.ts";

const log = createLog({ level: process.env["TEST_LOG"] ?? "silent", format: "json" });
const signal = new AbortController().signal;
const dir = makeTempDir();
let engine: Engine;

beforeAll(async () => {
  engine = new Engine({
    url: "",

    dataDir: dir.path,
    retention: retentionFrom(30),
    log,
  });
  await untilReady(engine);
});

afterAll(async () => {
  await engine.close();
  dir.remove();
});

async function read(sql: string, filters: Record<string, string> = {}) {
  return engine.query({ sql, filters });
}

it("counts a batch once that is sent twice, in the table and in its rollups", async () => {
  const rows = [1, 2, 3].map((index) =>
    verificationRow({ workspace_id: "ws_twice", key_id: `key_${index}`, spent_credits: 2 }),
  );
  const batch = encodeBatch("key_verifications_v1", rows);

  await engine.insert(batch, signal);
  await engine.insert(batch, signal);

  const raw = await read("SELECT count() AS n FROM vedette.key_verifications_v1");
  const perRollup = ["minute", "hour", "day", "month"].map((rollup) =>
    read(
      `SELECT sum(count) AS n, sum(spent_credits) AS spent, avgMerge(latency_avg) AS latency
       FROM vedette.key_verifications_per_${rollup}_v1`,
    ),
  );
  expect(raw).toEqual([{ n: 3 }]);
  expect(await Promise.all(perRollup)).toEqual(
    Array.from({ length: 4 }, () => [{ n: 3, spent: 6, latency: 1.5 }]),
  );
});

it("takes numbers that are larger than it holds as the largest, and refuses no row beside them", async () => {
  const huge = { limit: 1e300, remaining: 2 ** 63, tokens: 1e21, reset_at: 1e19 };
  const rows = [ratelimitRow({ workspace_id: "ws_huge", ...huge }), ratelimitRow()];

  await engine.insert(encodeBatch("ratelimits_v1", rows), signal);

  const told = await read(
    `SELECT toString("limit") AS a, toString(remaining) AS b, toString(tokens) AS c,
       toString(reset_at) AS d FROM vedette.ratelimits_v1 WHERE workspace_id = 'ws_huge'`,
  );
  const largest = "9223372036854775000";
  expect(told).toEqual([{ a: largest, b: largest, c: largest, d: largest }]);
});

it("keeps a table's filter apart from what the statement says", async () => {
  const rows = ["ws_a", "ws_b"].map((workspace_id) => ratelimitRow({ workspace_id }));
  await engine.insert(encodeBatch("ratelimits_v1", rows), signal);

  const seen = await read("SELECT DISTINCT workspace_id AS id FROM vedette.ratelimits_v1", {
    "vedette.ratelimits_v1": "workspace_id = 'ws_b'",
  });

  expect(seen).toEqual([{ id: "ws_b" }]);
});

it.each([
  ["invalid", "SELECT nothing FROM vedette.ratelimits_v1"],
  ["invalid", "DROP TABLE vedette.ratelimits_v1"],
  ["invalid", "SELECT * FROM file('/etc/passwd', 'LineAsString')"],
  ["size", "SELECT repeat('x', 1000000) FROM numbers(10)"],
  ["size", "SELECT number FROM numbers(20000)"],
  ["rows", "SELECT max(number) FROM numbers(6000000000)"],
  ["memory", "SELECT groupArray(repeat('x', 100000)) FROM numbers(100000)"],
])("refuses a query with %s: %s", async (failure, sql) => {
  const refused = read(sql);

  await expect(refused).rejects.toMatchObject({ failure });
});

it("gives a query that had to wait for others the same time as those", async () => {
  const slow = "WITH (SELECT sleep(3)) AS a, (SELECT sleep(2.5)) AS b SELECT a + b AS zero";

  const answers = await Promise.all([1, 2, 3, 4].map(() => read(slow)));

  expect(answers).toEqual([1, 2, 3, 4].map(() => [{ zero: 0 }]));
});

it("ends a query after ten seconds and answers others meanwhile", async () => {
  const heavy = read("SELECT max(SHA512(toString(number))) FROM numbers(4000000000)").catch(
    (error: unknown) => error,
  );

  const light = await read("SELECT 1 AS one");

  expect(light).toEqual([{ one: 1 }]);
  expect(await heavy).toMatchObject({ failure: "timeout" });
});
