import pg from "pg";
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createRefillKeys } from "#api/upkeep/refill.ts";
import { createKeyRefill } from "#cron/jobs/keys.ts";
import { insertKey, insertKeySpace } from "../../../support/api/api-rows.ts";
import { createJobRun } from "../../../support/monitor/job-run.ts";
import { prepareDatabase } from "../../../support/run/prepare-database.ts";

const { database, url } = prepareDatabase();

const today = Date.parse("2026-11-21T00:00:00Z");
const daysAhead = new Date(Math.max(today, Date.now()) + 3 * 86_400_000);
const order = { todayMs: today, days: [21], after: "" };

beforeAll(() => insertKeySpace(database()));

beforeEach(async () => {
  await database().query("DELETE FROM keys WHERE key_space_id = 'ks_test'");
  await database().query("DELETE FROM audit_log");
});

const remainingOf = async (id: string) => {
  const { rows } = await database().query("SELECT remaining FROM keys WHERE id = $1", [id]);
  return rows[0].remaining === null ? null : Number(rows[0].remaining);
};

const refill = () => createRefillKeys(database())(order);

describe("refill", () => {
  it.each([
    ["a daily key that has spent", { remaining: 3, refill_amount: 10 }, 10],
    ["a daily key that has none left", { remaining: 0, refill_amount: 10 }, 10],
    ["a daily key without a count of credits", { remaining: null, refill_amount: 10 }, 10],
    ["a daily key that holds more", { remaining: 15, refill_amount: 10 }, 15],
    ["a monthly key of today", { remaining: 3, refill_amount: 10, refill_day: 21 }, 10],
    ["a monthly key of another day", { remaining: 3, refill_amount: 10, refill_day: 20 }, 3],
    ["a key without refill", { remaining: 3 }, 3],
    [
      "a key refilled earlier today",
      { remaining: 3, refill_amount: 10, last_refill_at: new Date(today + 1_000) },
      3,
    ],
    [
      "a key refilled yesterday",
      { remaining: 3, refill_amount: 10, last_refill_at: new Date(today - 1_000) },
      10,
    ],
    [
      "a key refilled days from now, by a clock that was ahead",
      { remaining: 3, refill_amount: 10, last_refill_at: daysAhead },
      10,
    ],
    ["a deleted key", { remaining: 3, refill_amount: 10, deleted_at: new Date(today) }, 3],
  ])("leaves %s with what it should have", async (_, row, remaining) => {
    const id = await insertKey(database(), row);

    await refill();

    expect(await remainingOf(id)).toBe(remaining);
  });

  it("changes nothing when it is done again", async () => {
    const id = await insertKey(database(), { remaining: 0, refill_amount: 10 });
    await refill();
    await database().query("UPDATE keys SET remaining = 4 WHERE id = $1", [id]);

    const again = await refill();

    expect(again.refilled).toBe(0);
    expect(await remainingOf(id)).toBe(4);
  });

  it("changes nothing when it is done again, where the database has yesterday still", async () => {
    const tomorrow = { ...order, todayMs: Math.ceil(Date.now() / 86_400_000) * 86_400_000 };
    const id = await insertKey(database(), { remaining: 0, refill_amount: 10 });
    await createRefillKeys(database())(tomorrow);
    await database().query("UPDATE keys SET remaining = 4 WHERE id = $1", [id]);

    await createRefillKeys(database())(tomorrow);

    expect(await remainingOf(id)).toBe(4);
  });

  it("takes as many keys as there are, batch by batch", async () => {
    await database().query(
      `INSERT INTO keys (id, workspace_id, key_space_id, hash, start, remaining, refill_amount)
       SELECT 'key_' || n, 'ws_default', 'ks_test', 'hash' || n, 'x', 0, 5
       FROM generate_series(1, 1234) n`,
    );

    const { refilled, after } = await refill();

    expect(refilled).toBe(1_234);
    expect(after).toBeUndefined();
    const { rows } = await database().query("SELECT count(*) FROM keys WHERE remaining = 5");
    expect(rows[0].count).toBe("1234");
  });

  it("writes one audit entry per key, by the program itself", async () => {
    const id = await insertKey(database(), { remaining: 0, refill_amount: 10 });

    await refill();

    const { rows } = await database().query("SELECT * FROM audit_log");
    expect(rows).toMatchObject([
      {
        workspace_id: "ws_default",
        event: "key.update",
        actor_type: "system",
        actor_id: "keyrefill",
        targets: [{ type: "key", id }],
      },
    ]);
  });

  it("tells every process about a key that now has credits", async () => {
    const client = new pg.Client({ connectionString: url() });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query("LISTEN vedette_api");
    const heard = new Promise((resolve) => client.once("notification", resolve));
    const id = await insertKey(database(), { remaining: null, refill_amount: 10 });

    await refill();

    expect(await heard).toMatchObject({ payload: `key:${id}` });
  });
});

describe("the job key-refill", () => {
  it("goes through all keys and says how many", async () => {
    await insertKey(database(), { remaining: 0, refill_amount: 10 });
    await insertKey(database(), { remaining: 0, refill_amount: 10, refill_day: 20 });
    const { run, memory } = createJobRun({ nowMs: today + 3 * 60 * 60_000 });
    memory.set("lastDayMs", Date.parse("2026-11-19T00:00:00Z"));
    const job = createKeyRefill(createRefillKeys(database()));

    const summary = await job.run(run);

    expect(summary).toBe("2 keys refilled");
    expect(memory.get("lastDayMs")).toBe(today);
  });
});
