/** What history keeps of single sentinels, in a real Postgres. */
import { expect, it } from "vitest";
import { createMemberReader } from "#rollout/history/reader.ts";
import { createHistoryStore } from "#rollout/history/store.ts";
import { composeMessage } from "#rollout/rules/messages.ts";
import { buildHead, nothingShown } from "../../../support/rollout/rollout-builders.ts";
import { prepareDatabase } from "../../../support/run/prepare-database.ts";

const { database } = prepareDatabase();

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));

const history = () => createHistoryStore(database());
const reader = () => createMemberReader(database());

async function begin(id: string, members: string[], startedAt = at(0)): Promise<void> {
  const times = { startedAt: startedAt.toISOString(), updatedAt: startedAt.toISOString() };
  const head = buildHead({ rolloutId: id, sequence: 1, ...times });
  const told = {
    event: "rollout started" as const,
    message: composeMessage("rollout started", head),
  };
  await history().save(id, { ...head, toldAt: 1, told, shown: nothingShown });
  const previousImages = members.map(() => "registry.example.com/team/app:v1");
  await history().plan(id, [{ wave: 1, ids: members, previousImages }]);
}

function tell(id: string, second: number, changes: [member: string, to: string][]): Promise<void> {
  const updatedAt = at(second).toISOString();
  const totals = { sequence: second, updatedAt, succeeded: 0, failed: 0, reverted: 0 };
  return history().outcomes(id, {
    changes: changes.map(([member, to]) => ({ id: member, from: ".", to })),
    atMs: at(second).getTime(),
    isLate: false,
    totals,
  });
}

async function order(member: string, second: number): Promise<void> {
  await database().query(
    `INSERT INTO sentinels (id, region, image, running_image, deploy_status, health, ordered_at)
     VALUES ($1, 'eu', 'app:v2', 'app:v1', 'progressing', 'healthy', $2)
     ON CONFLICT (id) DO UPDATE SET ordered_at = excluded.ordered_at`,
    [member, at(second)],
  );
}

async function momentsOf(id: string, member: string) {
  const found = (await reader().histories(id)).find((one) => one.id === member);
  const seconds = (ms: number | null) => ms && (ms - at(0).getTime()) / 1_000;
  return found?.moments.map(({ outcome, atMs, orderedMs }) => [
    outcome,
    seconds(atMs),
    seconds(orderedMs),
  ]);
}

it("a rollback leaves the times of the deploy before it", async () => {
  await begin("r-1", ["gw-1"]);
  await order("gw-1", 5);
  await tell("r-1", 10, [["gw-1", "s"]]);
  await order("gw-1", 20);
  await tell("r-1", 30, [["gw-1", "r"]]);

  expect(await momentsOf("r-1", "gw-1")).toEqual([
    ["succeeded", 10, 5],
    ["reverted", 30, 20],
  ]);
});

it("a retry that ends well leaves the failure and the time of the retry", async () => {
  await begin("r-2", ["gw-2"]);
  await order("gw-2", 5);
  await tell("r-2", 10, [["gw-2", "f"]]);
  await tell("r-2", 20, [["gw-2", "."]]);
  await order("gw-2", 21);
  await tell("r-2", 30, [["gw-2", "s"]]);

  expect(await momentsOf("r-2", "gw-2")).toEqual([
    ["failed", 10, 5],
    [null, 20, null],
    ["succeeded", 30, 21],
  ]);
});

it("a result that is told twice is one change", async () => {
  await begin("r-3", ["gw-3"]);

  await tell("r-3", 10, [["gw-3", "s"]]);
  await tell("r-3", 10, [["gw-3", "s"]]);

  expect(await momentsOf("r-3", "gw-3")).toEqual([["succeeded", 10, null]]);
});

it("results bring the members of a batch that history was not told of", async () => {
  await begin("r-7", []);
  const images = ["registry.example.com/team/app:v1"];

  await history().outcomes("r-7", {
    changes: [{ id: "gw-7", from: ".", to: "s" }],
    batch: { wave: 1, ids: ["gw-7", "gw-8"], images, imageOf: [0, 0] },
    atMs: at(10).getTime(),
    isLate: false,
  });

  expect(await momentsOf("r-7", "gw-7")).toEqual([["succeeded", 10, null]]);
  expect(await momentsOf("r-7", "gw-8")).toEqual([]);
});

it("an order of before the rollout, or of after the result, is none of this deploy", async () => {
  await begin("r-4", ["gw-4", "gw-5"], at(3));
  await order("gw-4", 2);
  await order("gw-5", 11);

  await tell("r-4", 10, [
    ["gw-4", "s"],
    ["gw-5", "s"],
  ]);

  expect(await momentsOf("r-4", "gw-4")).toEqual([["succeeded", 10, null]]);
  expect(await momentsOf("r-4", "gw-5")).toEqual([["succeeded", 10, null]]);
});

it("of a sentinel that is tried for ever the last twenty changes are kept", async () => {
  await begin("r-5", ["gw-6"]);

  for (let second = 1; second <= 30; second += 1) {
    await tell("r-5", second, [["gw-6", second % 2 === 0 ? "." : "f"]]);
  }

  const moments = await momentsOf("r-5", "gw-6");
  expect(moments?.length).toBe(20);
  expect(moments?.[0]).toEqual(["failed", 11, null]);
});

it("the deploys of a sentinel are those of its fleet's rollouts that came to it, the newest first", async () => {
  for (let n = 1; n <= 4; n += 1) await begin(`many-r-${n}`, ["many-7", "many-8"], at(100 + n));
  await order("many-7", 105);
  await tell("many-r-2", 110, [["many-7", "f"]]);
  await database().query(
    "UPDATE rollouts SET ended_at = now() WHERE id IN ('many-r-1', 'many-r-2')",
  );
  await database().query("UPDATE rollouts SET fleet = 'staging' WHERE id = 'many-r-3'");

  const deploys = await reader().deploys("many-7");

  expect(deploys.map(({ rollout_id, outcome }) => [rollout_id, outcome])).toEqual([
    ["many-r-4", null],
    ["many-r-2", "failed"],
  ]);
});
