/** What is kept of logs, in a real Postgres. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createDeployer } from "#fleet/deploys/deployer.ts";
import { createListStore } from "#fleet/list-store.ts";
import { createLogBudget } from "#fleet/logs/budget.ts";
import { createLogStore, createSaveLog } from "#fleet/logs/store.ts";
import { createFleetStore } from "#fleet/store.ts";
import { type Database, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { createTestDatabase } from "../../support/run/shared-postgres.ts";
import type { TestDatabase } from "../../support/servers/servers.ts";

const v2 = "r.io/a:v2";
const kept = { deployId: "d1", image: v2, reason: "crash_loop: exit code 3", lines: "a\nb" };

let server: TestDatabase;
let database: Database;

beforeAll(async () => {
  server = await createTestDatabase();
  database = openDatabase(server.url, createLog({ level: "silent", format: "json" }));
});

afterAll(async () => {
  await database.end();
  await server.stop();
});

const logs = () => createLogStore(database);
const countKept = async () =>
  (await database.query("SELECT count(*)::int AS n FROM sentinel_logs")).rows[0]?.n;

async function list(ids: readonly string[], keepsLogs = true): Promise<void> {
  const store = createListStore(database, {
    fleet: "singleton",
    maxMissingPercent: 100,
    keepsLogs,
  });
  const sentinels = ids.map((id) => ({ id, region: "eu", image: "r.io/a:v1", healthy: true }));
  await store.write({ askedAt: await store.readClock(), sentinels });
}

/** As a deploy writes it. */
async function fail(id: string, deployId: string): Promise<void> {
  const { record } = createFleetStore(database);
  await record({ id, image: v2, status: "progressing", deployId });
  await record({ id, image: v2, status: "failed", reason: kept.reason, endedId: deployId });
}

beforeEach(async () => {
  await database.query("DELETE FROM sentinels");
  await list(["gw-1", "gw-2", "gw-3"]);
});

describe("a failed deploy's log", () => {
  it("is found with its sentinel", async () => {
    await fail("gw-1", "d1");
    await logs().keep("gw-1", kept);

    const found = await logs().find("gw-1");

    expect(found).toMatchObject({
      id: "gw-1",
      fleet: "singleton",
      deployId: "d1",
      failure: kept.reason,
      kept: { ...kept, at: expect.stringMatching(/^\d{4}-.*Z$/) },
    });
  });

  it("is replaced by that of the next failed deploy, even by none", async () => {
    await fail("gw-1", "d1");
    await logs().keep("gw-1", kept);
    await fail("gw-1", "d2");
    await logs().keep("gw-1", { ...kept, deployId: "d2", lines: "", note: "not read" });

    const found = await logs().find("gw-1");

    expect(found?.kept).toMatchObject({ deployId: "d2", lines: "", note: "not read" });
    expect(await countKept()).toBe(1);
  });

  it("is not lost when the step is repeated, and finds no log any more", async () => {
    await fail("gw-1", "d1");
    await logs().keep("gw-1", kept);
    await logs().keep("gw-1", { ...kept, lines: "", note: "gone" });

    expect((await logs().find("gw-1"))?.kept).toMatchObject(kept);
  });

  it("is not kept when another deploy has followed", async () => {
    await fail("gw-1", "d2");
    await logs().keep("gw-1", kept);

    expect((await logs().find("gw-1"))?.kept).toBeNull();
  });

  it("is not kept of a sentinel that is not known", async () => {
    await logs().keep("nobody", kept);

    expect(await countKept()).toBe(0);
    expect(await logs().find("nobody")).toBeUndefined();
  });

  it("names those that failed in the same way and have lines", async () => {
    for (const id of ["gw-1", "gw-2", "gw-3"]) await fail(id, "d1");
    await logs().keep("gw-1", { ...kept, lines: "", note: "not read" });
    await logs().keep("gw-2", { ...kept, reason: "crash_loop: exit code 4" });
    await logs().keep("gw-3", { ...kept, reason: "oom_killed" });

    const similar = await logs().similar("gw-1", { image: v2, code: "crash_loop" });

    expect(similar).toEqual(["gw-2"]);
  });
});

describe("a process that is killed between a failure and its record", () => {
  it("leaves the log to the one that repeats the step, though that finds none any more", async () => {
    const log = createLog({ level: "silent", format: "json" });
    const store = createFleetStore(database);
    const texts = ["no database"];
    const driver = {
      observe: async () => ({ status: "failed" as const, reason: kept.reason, isOrdered: true }),
      readLog: async () => {
        const text = texts.shift();
        return text === undefined ? { absent: "there is no container of it" } : { text };
      },
    };
    const build = (over: Partial<typeof store>) => {
      const budget = createLogBudget();
      const keepLog = createSaveLog({ driver, store: logs(), budget, lines: 100, log });
      return createDeployer(driver as never, { ...store, ...over }, keepLog);
    };
    const killed = build({
      record: async () => {
        throw new Error("killed");
      },
    });
    const order = { sentinelId: "gw-1", image: v2, deployId: "d1" };
    const next = { isPending: false, pollMs: 200, isDue: false, isPushed: false };
    await store.record({ id: "gw-1", image: v2, status: "progressing", deployId: "d1" });
    await expect(killed.observe(order, next, 10_000)).rejects.toThrow("killed");

    const step = await build({}).observe(order, next, 10_000);

    expect(step.status).toBe("failed");
    const found = await logs().find("gw-1");
    expect(found).toMatchObject({ failure: kept.reason, kept: { lines: "no database" } });
  });
});

describe("a bad image over a large fleet", () => {
  it("leaves few logs, and a note for every other sentinel that says whose", async () => {
    // As many as a slow machine notes within the two seconds that each may take, all at once.
    const ids = Array.from({ length: 200 }, (_, n) => `gw-${n}`);
    await list(ids);
    const keepLog = createSaveLog({
      driver: { readLog: async () => ({ text: "x".repeat(16_384) }) },
      store: logs(),
      budget: createLogBudget(),
      lines: 100,
      log: createLog({ level: "silent", format: "json" }),
    });

    const failed = { image: v2, run: "run-1", reason: kept.reason };
    await Promise.all(
      ids.map((sentinelId) => keepLog({ ...failed, sentinelId, deployId: `of ${sentinelId}` })),
    );

    const { rows } = await database.query(
      `SELECT count(*)::int AS rows, count(*) FILTER (WHERE lines <> '')::int AS logs,
         sum(length(lines))::int AS chars FROM sentinel_logs`,
    );
    expect(rows[0]).toEqual({ rows: 200, logs: 5, chars: 5 * 16_384 });
    expect(await logs().similar("gw-199", { image: v2, code: "crash_loop" })).toHaveLength(3);
  });
});

describe("a list of the fleet", () => {
  beforeEach(async () => {
    for (const id of ["gw-1", "gw-2"]) {
      await fail(id, "d1");
      await logs().keep(id, kept);
    }
  });

  it("leaves the logs of its sentinels, and deletes those of others", async () => {
    await list(["gw-2", "gw-3"]);

    const { rows } = await database.query("SELECT sentinel_id FROM sentinel_logs");
    expect(rows).toEqual([{ sentinel_id: "gw-2" }]);
  });

  it("deletes logs after thirty days", async () => {
    await database.query(
      "UPDATE sentinel_logs SET at = now() - interval '31 days' WHERE sentinel_id = 'gw-1'",
    );

    await list(["gw-1", "gw-2", "gw-3"]);

    const { rows } = await database.query("SELECT sentinel_id FROM sentinel_logs");
    expect(rows).toEqual([{ sentinel_id: "gw-2" }]);
  });

  it("deletes all of them once none are to be kept", async () => {
    await list(["gw-1", "gw-2", "gw-3"], false);

    expect(await countKept()).toBe(0);
  });
});
