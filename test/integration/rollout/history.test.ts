/** What history keeps of a rollout, whatever the order in which it is told. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EventRecord } from "#alerts/queue.ts";
import { saveEvents } from "#alerts/store.ts";
import { type Database, migrate, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { gatesOf } from "#rollout/gates/registry.ts";
import { createRolloutReader } from "#rollout/history/reader.ts";
import { createHistoryStore, type HistoryStore } from "#rollout/history/store.ts";
import { composeMessage } from "#rollout/rules/messages.ts";
import { buildHead, nothingShown } from "../../support/rollout/rollout-builders.ts";
import { startTestDatabase, type TestDatabase } from "../../support/servers/servers.ts";

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

const entry = (sequence: number, over: Parameters<typeof buildHead>[0]) => {
  const head = buildHead({ sequence, updatedAt: at(sequence), ...over });
  const event = "rollout started" as const;
  return {
    ...head,
    toldAt: sequence,
    told: { event, message: composeMessage(event, head) },
    shown: nothingShown,
  };
};

type Told = Parameters<typeof buildHead>[0] & { leftOut?: number };

const results = (sequence: number, succeeded: number) => ({
  changes: [],
  atMs: Date.parse(at(sequence)),
  isLate: false,
  totals: { sequence, updatedAt: at(sequence), succeeded, failed: 0, reverted: 0 },
});

describe("history", () => {
  let server: TestDatabase;
  let database: Database;
  let history: HistoryStore;

  beforeAll(async () => {
    const log = createLog({ level: "silent", format: "json" });
    server = await startTestDatabase();
    await migrate(server.url, log);
    database = openDatabase(server.url, log);
    history = createHistoryStore(database);
  });

  afterAll(async () => {
    await database.end();
    await server.stop();
  });

  const find = async (id: string) => {
    const { rollouts } = await history.list({ fleet: "singleton", limit: 100 });
    return rollouts.find(({ rollout_id }) => rollout_id === id);
  };

  it.each([
    ["pending", 0, null, "queued"],
    ["pending", 2, "status 500", "sending"],
    ["accepted", 1, null, "delivered"],
    ["not_posted", 1, "no webhook is set", "dropped"],
    ["dead", 1, "status 400 invalid_blocks", "refused"],
    ["superseded", 1, "status 400 invalid_blocks", "refused"],
    ["dead", 9, "given up: status 500", "given_up"],
  ] as const)("has a message that is %s after %i attempts (%s) as %s", async (...given) => {
    const [status, attempts, cause, outcome] = given;
    const rolloutId = `r-${outcome}-${status}`;
    const told = entry(1, { rolloutId });
    await history.save(rolloutId, told);
    const notice = told.told.message;
    const atMs = Date.parse(at(1));
    const order = { eventId: `sentinel_rollout@sentinel_rollout:${notice.id}`, notice, atMs };
    const to = { channel: "sentinel_rollout", topic: "sentinel_rollout" };

    const record: EventRecord = {
      entry: { order: { ...order, ...to }, sequence: 1, queuedAtMs: atMs, attempts, cause },
      status,
      nextAttemptAtMs: null,
      acceptedAtMs: status === "accepted" ? atMs : null,
    };
    await saveEvents(database, [record]);

    const recorded = await createRolloutReader(database).recorded(rolloutId);
    expect(recorded?.messages).toMatchObject([{ delivery: { outcome, attempts, detail: cause } }]);
  });

  it("has the CI job that has started a rollout, in the list and by itself", async () => {
    const ciRun = { repository: "acme/shop", workflow: "rollout.yml", run: "42", commit: "1a2b" };

    await history.save("r-of-ci", entry(1, { ciRun }));
    await history.save("r-of-ci", entry(2, {}));

    const recorded = await createRolloutReader(database).recorded("r-of-ci");
    expect(await find("r-of-ci")).toMatchObject({ ci_run: ciRun });
    expect(recorded?.ci_run).toEqual(ciRun);
  });

  it("counts sentinels that had failed before they were reverted, also after the rollback began", async () => {
    const id = "r-back";
    await history.save(id, entry(1, { failed: 1 }));
    await history.plan(id, [{ wave: 1, ids: ["a", "b", "c"], previousImages: ["", "", ""] }]);
    const change = (sequence: number, of: string, to: string) =>
      history.outcomes(id, {
        ...results(sequence, 0),
        changes: [{ id: of, from: ".", to, ...(to === "f" && { reason: "crash_loop" }) }],
      });
    await change(2, "a", "f");
    await history.save(id, entry(3, { state: "rolling_back", failed: 1 }));
    await change(4, "b", "f");
    await change(5, "c", "s");
    for (const [i, of] of ["a", "b", "c"].entries()) await change(6 + i, of, "r");

    await history.save(id, entry(9, { state: "cancelled", reverted: 3 }));

    expect(await find(id)).toMatchObject({ reverted: 3, failed: 0, failed_before: 2 });
  });

  it("learns of an end that comes after later results, and keeps their counts", async () => {
    await history.save("r-held-up", entry(1, {}));
    await history.outcomes("r-held-up", results(3, 2));

    await history.save("r-held-up", entry(2, { state: "cancelled", succeeded: 1 }));

    expect(await find("r-held-up")).toMatchObject({
      ...{ state: "cancelled", ended_at: at(2) },
      ...{ succeeded: 2, updated_at: at(3) },
    });
  });

  it("takes nothing back when a transition comes after a later one", async () => {
    await history.save("r-late", entry(1, {}));
    await history.save("r-late", entry(3, { state: "completed", succeeded: 4 }));

    await history.save("r-late", entry(2, { currentWave: 2, succeeded: 2 }));

    expect(await find("r-late")).toMatchObject({ state: "completed", succeeded: 4 });
    expect(await find("r-late")).toMatchObject({ ended_at: at(3), current_wave: 1 });
  });

  it("keeps the checks of the gate", async () => {
    const reader = createRolloutReader(database);
    await history.save("r-gate", {
      ...entry(1, {}),
      shown: {
        ...nothingShown,
        gates: gatesOf({ gate: { checks: ["b", "a"], clean_runs: 1, timeout_seconds: 60 } }, []),
      },
    });
    await history.save("r-free", entry(1, {}));

    expect((await reader.recorded("r-gate"))?.gate_checks).toEqual(["b", "a"]);
    expect(await find("r-gate")).toMatchObject({ gate_checks: ["b", "a"] });
    expect(await reader.recorded("r-free")).not.toHaveProperty("gate_checks");
  });

  it("knows by the newest rollout of an image whether a fleet has completed it", async () => {
    const digest = `@sha256:${"a".repeat(64)}`;
    const image = `registry.example.com/team/app:v7${digest}`;
    const told = (id: string, second: number, over: Told) => {
      const { leftOut = 0, ...head } = over;
      const outcome = head.state === "completed" ? ("completed" as const) : ("cancelled" as const);
      return history.save(id, {
        ...entry(1, { fleet: "qa", image, startedAt: at(second), total: 4, ...head }),
        shown: { ...nothingShown, outcome, leftOut },
      });
    };
    const has = (wanted = image) => history.hasCompleted("qa", wanted);

    const before = await has();
    await told("p-1", 1, { state: "completed" });
    const completed = [await has(), await has(`other.example.com/app${digest}`)];
    const other = [
      await has("registry.example.com/team/app:v8"),
      await history.hasCompleted("prod", image),
    ];
    await told("p-2", 2, { state: "completed", total: 0, leftOut: 4 });
    const leftOut = await has();
    await told("p-3", 3, { state: "completed", total: 0, leftOut: 0 });
    const ranIt = await has();
    await told("p-4", 4, { state: "cancelled" });
    await told("p-5", 5, { image: "registry.example.com/team/app:v8", state: "completed" });
    const cancelled = await has();

    expect({ before, completed, other, leftOut, ranIt, cancelled }).toEqual({
      before: false,
      completed: [true, true],
      other: [false, false],
      leftOut: false,
      ranIt: true,
      cancelled: false,
    });
  });
});
