/** What history keeps of a rollout, whatever the order in which it is told. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Database, migrate, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { createHistoryStore, type HistoryStore } from "#rollout/history/store.ts";
import { composeMessage } from "#rollout/rules/messages.ts";
import { buildHead } from "../../support/rollout/rollout-builders.ts";
import { startTestDatabase, type TestDatabase } from "../../support/servers/servers.ts";

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

const entry = (sequence: number, over: Parameters<typeof buildHead>[0]) => {
  const head = buildHead({ sequence, updatedAt: at(sequence), ...over });
  const event = "rollout started" as const;
  return { ...head, told: { event, message: composeMessage(event, head) } };
};

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
});
