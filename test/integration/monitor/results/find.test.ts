/** The checks that a page shows, read from rows. */
import { expect, it } from "vitest";
import { createFindChecks } from "#monitor/results/view.ts";
import { anApiCheck } from "../../../support/monitor/check-builders.ts";
import { anApiRow, saveRecords, saveRow } from "../../../support/monitor/check-rows.ts";
import { prepareDatabase } from "../../../support/run/prepare-database.ts";

const { database } = prepareDatabase();

/** As many checks as have no strips in the list of all. */
async function findAmong(count: number) {
  const apiChecks = Array.from({ length: count }, (_, i) => anApiCheck({ id: `check-${i}` }));
  const ok = { decidedRunMs: Date.now() };
  await saveRow(database(), "check-7", anApiRow({ ...ok, status: "failed" }));
  await saveRow(database(), "check-8", anApiRow(ok));
  return createFindChecks({
    database: database(),
    readDefinitions: async () => ({ apiChecks, heartbeats: [], channels: [] }),
    whyOff: () => [],
    failedAtPercent: 0,
    nowMs: Date.now,
  });
}

it("the worst checks of many come first, each with its strip", async () => {
  const find = await findAmong(1_200);
  const atMs = Date.now();
  const result = { checkId: "check-8", scheduledAtMs: atMs, startedAtMs: atMs, location: "fra" };
  const measured = { durationMs: 3, grade: "ok" as const, cause: null, reason: null, status: 200 };
  await saveRecords(database(), {
    results: [{ ...result, ...measured, phases: {}, tlsDaysLeft: null } as never],
  });

  const { checks, counts } = await find({ limit: 2 });

  expect(checks.map(({ id, status }) => [id, status])).toEqual([
    ["check-7", "failed"],
    ["check-8", "ok"],
  ]);
  expect(checks.map(({ strip }) => strip)).toEqual([[], []]);
  expect(checks.map(({ bars }) => bars?.replaceAll("-", ""))).toEqual(["", "o"]);
  expect(counts).toEqual({
    total: { api: 1_200, heartbeat: 0 },
    statuses: { failed: 1, ok: 1, pending: 1_198 },
    found: { api: 1_200, heartbeat: 0 },
    alerts: 0,
  });
});

it("a check that was muted just now is shown as muted", async () => {
  const find = await findAmong(10);
  const untilOf = async (asked: Parameters<typeof find>[0]) =>
    (await find(asked)).checks.find(({ id }) => id === "check-7")?.quiet_until;
  const before = [await untilOf({ limit: 2 }), await untilOf({ ids: ["check-7"] })];
  const untilMs = Date.now() + 60_000;

  const quiet = { mutedUntilMs: untilMs, maintenance: [] };
  await saveRow(database(), "check-7", { ...anApiRow({ status: "failed" }), quiet });

  const until = new Date(untilMs).toISOString();
  expect(before).toEqual([null, null]);
  expect([await untilOf({ limit: 2 }), await untilOf({ ids: ["check-7"] })]).toEqual([
    until,
    until,
  ]);
});

it("checks that are asked for by id have the pieces of their strip, and no others are read", async () => {
  const find = await findAmong(10);

  const { checks, counts } = await find({ ids: ["check-8", "nothing"] });

  expect(checks.map(({ id, strip }) => [id, strip.length])).toEqual([["check-8", 96]]);
  expect(counts).toBeUndefined();
});

it("those asked for by id come after those that the search finds, each once", async () => {
  const find = await findAmong(10);

  const { checks } = await find({ ids: ["check-7", "check-3"], kind: "api", limit: 2 });

  expect(checks.map(({ id }) => id)).toEqual(["check-7", "check-8", "check-3"]);
});
