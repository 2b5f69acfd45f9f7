import { expect, it } from "vitest";
import { adviseOn, readTroubled } from "#worker/engine.ts";
import { isSuperseded } from "#worker/register.ts";
import type { RestateAdmin } from "#worker/restate-admin.ts";

const endpoint = "http://worker:9480/rev-4f2a";

it.each([
  [
    "names the command that moves what a version without a process has left",
    "RT0010",
    /upgrade adopt 4f2a$/,
  ],
  ["promises the release of what another version started", "RT0016", /released by itself/],
  ["promises another attempt after any other failure", "RT0006", /retried by itself/],
  ["promises another attempt after a failure without a code", null, /retried by itself/],
])("advice %s", (_, code, words) => {
  expect(adviseOn({ status: "backing-off", code, endpoint })).toMatch(words);
});

it("advice on a paused invocation names the command that retries it", () => {
  expect(adviseOn({ status: "paused", code: null, endpoint })).toMatch(/vedette engine retry/);
});

it("a paused invocation has no next attempt, as Restate leaves out what is NULL", async () => {
  const row = {
    id: "inv_1",
    target: "vedette.v1.Notices/a/post",
    status: "paused",
    modified_at: "2030-01-01T00:00:00Z",
  };
  const query = async (sql: string) => (sql.includes("count(*)") ? [{ count: 1 }] : [row]);

  const { invocations, total } = await readTroubled({ query: query as RestateAdmin["query"] });

  expect(total).toBe(1);
  expect(invocations).toMatchObject([
    { since: "2030-01-01T00:00:00.000Z", attempts: 0, next_attempt_at: null, reason: "" },
  ]);
});

it("the reason of an invocation is the message without the stack that repeats it", async () => {
  const message = "[500 Internal] the table is gone\nin two lines";
  const last_failure = `${message}\nTypeError: the table is gone\nin two lines\n    at save (store.ts:1:2)\n    at run`;
  const row = { id: "inv_1", target: "a", status: "backing-off", modified_at: "2030-01-01" };
  const query = async () => [{ ...row, last_failure }];

  const { invocations } = await readTroubled({ query: query as unknown as RestateAdmin["query"] });

  expect(invocations[0]?.reason).toBe("[500 Internal] the table is gone in two lines");
});

it("a failure of many megabytes is read by its beginning, in time", async () => {
  const row = { id: "inv_1", target: "a", status: "backing-off", modified_at: "2030-01-01" };
  const query = async () => [{ ...row, last_failure: "token=a ".repeat(2_000_000) }];
  const { user } = process.threadCpuUsage();

  const { invocations } = await readTroubled({ query: query as unknown as RestateAdmin["query"] });

  expect(invocations[0]?.reason).toMatch(/^token=\*\*\* /);
  expect(process.threadCpuUsage().user - user).toBeLessThan(1_000_000);
});

const deployment = (id: string, revision: number) => ({ id, services: [{ name: "a", revision }] });

it("a deployment is superseded while another one has a higher revision of a service", () => {
  const known = [deployment("dp_1", 1), deployment("dp_2", 2)];

  expect(isSuperseded(known, "dp_1")).toBe(true);
  expect(isSuperseded(known, "dp_2")).toBe(false);
});
