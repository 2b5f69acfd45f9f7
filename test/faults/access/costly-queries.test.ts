/** Queries of 2 KB that mean millions of parts, or rows without end: refused in time, while another workspace is answered. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestAnalytics, type TestAnalytics } from "../../support/api/analytics.ts";
import { startTestApi, type TestApi } from "../../support/api/api.ts";

let analytics: TestAnalytics;
let api: TestApi;
let eve: { rootKey: string };
let ada: { rootKey: string };

beforeAll(async () => {
  analytics = await startTestAnalytics();
  api = await startTestApi({ analytics });
  eve = await api.createWorkspace();
  ada = await api.createWorkspace();
});

afterAll(async () => {
  await api?.stop();
  await analytics?.stop();
});

const named = (count: number, first: string, next: (before: string) => string) => {
  const rest = Array.from({ length: count }, (_, i) => `${next(`v${i}`)} AS v${i + 1}`);
  return `WITH ${first} AS v0, ${rest.join(", ")}`;
};
const queries = (count: number, join: string) => {
  const next = (i: number) =>
    `q${i + 1} AS (SELECT a.x AS x FROM q${i} AS a ${join} q${i} AS b ON a.x = b.x)`;
  const rest = Array.from({ length: count }, (_, i) => next(i));
  return `WITH q0 AS (SELECT 1 AS x), ${rest.join(", ")} SELECT count() FROM q${count}`;
};
const list = (length: number) => `splitByChar(',', '${",".repeat(length)}')`;

it.each([
  ["queries that double 25 times", queries(25, "JOIN")],
  ["queries that double 25 times to the left", queries(25, "LEFT JOIN")],
  ["values that double 40 times", `${named(40, "1", (v) => `${v} + ${v}`)} SELECT v40`],
  [
    "texts that double 30 times",
    `${named(30, `'${"a".repeat(64)}'`, (v) => `concat(${v}, ${v})`)} SELECT length(v30)`,
  ],
  [
    "lists of lists, twenty deep",
    `${named(20, "[1, 1]", (v) => `arrayMap(x -> ${v}, ${v})`)} SELECT length(toString(v20))`,
  ],
  ["lists within lambdas", `SELECT ${"arrayMap(x -> ".repeat(7)}1${`, ${list(40)})`.repeat(7)}`],
])("%s", async (_, query) => {
  const asked = api.call("analytics.getVerifications", { query }, eve.rootKey);
  const other = await api.call(
    "analytics.getVerifications",
    { query: "SELECT 1 AS n" },
    ada.rootKey,
  );

  expect(other.body.data).toEqual([{ n: 1 }]);
  expect([400, 422]).toContain((await asked).status);
});
