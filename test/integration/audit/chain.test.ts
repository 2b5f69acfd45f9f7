/** Sealing, verifying, exporting and shortening the audit log on a real Postgres. */
import { beforeEach, describe, expect, it } from "vitest";
import { removeOld, type SealedRow, seal, startSealing, verify } from "#audit/chain.ts";
import { type ExportOrder, exportRows } from "#audit/log.ts";
import { actorOf, recordAudit } from "#kernel/audit.ts";
import { inTransaction } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { prepareDatabase } from "../../support/run/prepare-database.ts";
import { waitFor } from "../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });
const { database } = prepareDatabase();

beforeEach(async () => {
  await database().query("TRUNCATE audit_log, audit_deliveries");
  await database().query("UPDATE audit_head SET seq = 0, hash = decode(repeat('00', 32), 'hex')");
});

const record = (name: string, key?: string) => ({
  ...{ event: "window.add", description: `Added window ${name}`, actor: actorOf("ada") },
  ...{ targets: [{ type: "window", id: name }], meta: { b: 1, a: { z: 0.1, y: "é" } } },
  ...(key !== undefined && { key }),
});

async function write(count: number): Promise<void> {
  for (let i = 1; i <= count; i += 1) await recordAudit(database(), [record(`w${i}`)]);
}

async function exported(order: Partial<ExportOrder> = {}): Promise<SealedRow[]> {
  const { signal } = new AbortController();
  const rows: SealedRow[] = [];
  const all = exportRows(database(), { follow: false, signal, onAway: () => {}, ...order });
  for await (const row of all) rows.push(row);
  return rows;
}

describe("sealed rows", () => {
  it("have places without gaps, whoever seals at the same time", async () => {
    await write(20);
    const sealing = Array.from({ length: 5 }, () => seal(database()));
    await Promise.all([...sealing, write(20)]);

    const rows = await exported();

    expect(rows.map(({ cursor }) => cursor)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
    expect(await verify(database())).toMatchObject({ state: "intact", rows: 40, first: 1 });
  });

  it("of one millisecond are in the order that their records say", async () => {
    const atMs = Date.now();
    const orders = [9, 300, 11, 4, 10, 2, 255, 1];
    const records = orders.map((order) => ({
      ...record(`${order}`, `step:${order}`),
      atMs,
      order,
    }));
    await recordAudit(database(), records);

    const rows = await exported();

    const sorted = orders.toSorted((a, b) => a - b).map((order) => `Added window ${order}`);
    expect(rows.map(({ description }) => description)).toEqual(sorted);
  });

  it("come after those before them, although their transaction began earlier", async () => {
    const client = await database().connect();
    await client.query("BEGIN");
    await recordAudit(client, [record("slow")]);
    await write(1);
    const before = await exported();

    await client.query("COMMIT");
    client.release();
    const after = await exported({ since: before.at(-1)?.cursor });

    expect(before.map(({ targets }) => targets)).toEqual([[{ type: "window", id: "w1" }]]);
    expect(after.map(({ targets }) => targets)).toEqual([[{ type: "window", id: "slow" }]]);
  });

  it("are written once by a step that is repeated", async () => {
    await recordAudit(database(), [record("once", "window:1")]);
    await recordAudit(database(), [record("once", "window:1")]);

    expect(await exported()).toHaveLength(1);
  });

  it("are sealed in the background within a second", async () => {
    const sealing = startSealing(database(), log, 0);
    await write(3);

    const count = "SELECT count(*)::int AS sealed FROM audit_log WHERE seq IS NOT NULL";
    await waitFor(async () => (await database().query(count)).rows[0].sealed === 3, {
      ...{ withinMs: 5_000, what: "the seals" },
    });
    await sealing.stop();
    expect(await verify(database())).toMatchObject({ state: "intact", rows: 3 });
  });

  it("are not there if the change was rolled back", async () => {
    const change = inTransaction(database(), async (transaction) => {
      await recordAudit(transaction, [record("never")]);
      throw new Error("no");
    });

    await expect(change).rejects.toThrow("no");
    expect(await exported()).toEqual([]);
  });
});

describe("verify", () => {
  beforeEach(async () => {
    await write(5);
    await seal(database());
  });

  it.each([
    ["description = 'Added nothing'", 3],
    [`actor_id = 'ben'`, 2],
    ["time = time + interval '1 microsecond'", 4],
    [`meta = '{"a": 1}'`, 1],
    ["remote_ip = '10.0.0.1'", 5],
  ])("names the first row that has %s", async (change, cursor) => {
    await database().query(`UPDATE audit_log SET ${change} WHERE seq >= $1`, [cursor]);

    expect(await verify(database())).toMatchObject({ state: "changed", cursor });
  });

  it("names rows that are missing in the middle, at the start and at the end", async () => {
    await database().query("DELETE FROM audit_log WHERE seq = 5");
    const atEnd = await verify(database());
    await database().query("DELETE FROM audit_log WHERE seq IN (2, 3)");
    const within = await verify(database());
    await database().query("DELETE FROM audit_log WHERE seq = 1");
    const atStart = await verify(database());

    expect(atEnd).toEqual({ state: "missing", cursor: 5, through: 5 });
    expect(within).toEqual({ state: "missing", cursor: 2, through: 3 });
    expect(atStart).toEqual({ state: "missing", cursor: 1, through: 3 });
  });

  it("names rows that are missing at the end although others were written since", async () => {
    await database().query("DELETE FROM audit_log WHERE seq >= 4");
    await write(1);

    expect(await verify(database())).toEqual({ state: "missing", cursor: 4, through: 5 });
  });

  it("finds by a head that was noted elsewhere that the end was removed with its count", async () => {
    const noted = await verify(database());
    if (noted.state !== "intact") throw new Error(noted.state);
    await database().query("DELETE FROM audit_log WHERE seq >= 4");
    await database().query(
      "UPDATE audit_head SET (seq, hash) = (SELECT seq, hash FROM audit_log WHERE seq = 3)",
    );

    expect(await verify(database())).toMatchObject({ state: "intact", rows: 3 });
    expect(await verify(database(), noted.head)).toEqual({
      state: "missing",
      cursor: 4,
      through: 5,
    });
  });

  it("finds by such a head that all rows were made anew", async () => {
    const noted = await verify(database());
    if (noted.state !== "intact") throw new Error(noted.state);
    await database().query("UPDATE audit_log SET seq = NULL, actor_id = 'ben'");
    await database().query("UPDATE audit_head SET seq = 0, hash = decode(repeat('00', 32), 'hex')");

    expect(await verify(database())).toMatchObject({ state: "intact", rows: 5 });
    expect(await verify(database(), noted.head)).toMatchObject({ state: "changed", cursor: 5 });
  });
});

describe("rows that are too old", () => {
  beforeEach(async () => {
    await write(4);
    await database().query(
      "UPDATE audit_log SET time = now() - interval '40 days' WHERE description < 'Added window w4'",
    );
  });

  it("are removed, and the chain says where it starts", async () => {
    expect(await removeOld(database(), 30)).toBe(3);
    expect(await removeOld(database(), 30)).toBe(0);

    expect(await verify(database())).toMatchObject({ state: "intact", rows: 2, first: 4 });
    expect((await exported()).map(({ event }) => event)).toEqual(["window.add", "audit.removed"]);
  });

  it("stay until each channel has them", async () => {
    await database().query("INSERT INTO audit_deliveries VALUES ('siem', 1)");

    expect(await removeOld(database(), 30)).toBe(1);
    expect(await verify(database())).toMatchObject({ first: 2 });
  });

  it("are missing if more were removed than the chain says", async () => {
    await removeOld(database(), 30);
    await database().query("DELETE FROM audit_log WHERE seq = 4");

    expect(await verify(database())).toEqual({ state: "missing", cursor: 1, through: 4 });
  });

  it("are an error for an export that goes on after one of them", async () => {
    await removeOld(database(), 30);

    await expect(exported({ since: 2 })).rejects.toThrow("row 3 is missing");
  });
});

describe("an export", () => {
  it("goes on after a cursor, and starts at a time", async () => {
    await write(3);
    await database().query(
      "UPDATE audit_log SET time = now() - interval '2 days' WHERE description LIKE '%w1'",
    );
    const all = await exported();

    const afterFirst = await exported({ since: all[0]?.cursor });
    const ofToday = await exported({ since: new Date(Date.now() - 86_400_000) });
    const ofTomorrow = await exported({ since: new Date(Date.now() + 86_400_000) });

    expect(afterFirst).toEqual(all.slice(1));
    expect(ofToday).toEqual(all.slice(1));
    expect(ofTomorrow).toEqual([]);
  });

  it("refuses the cursor of another log", async () => {
    await write(1);

    await expect(exported({ since: 7 })).rejects.toThrow("the log ends at the cursor 1");
  });

  it("has the rows before one that is missing, stops there, and skips none", async () => {
    await write(4);
    await seal(database());
    await database().query("DELETE FROM audit_log WHERE seq = 3");
    const seen: number[] = [];
    const { signal } = new AbortController();
    const order = { follow: false, signal, onAway: () => {} };
    const read = async () => {
      for await (const { cursor } of exportRows(database(), order)) seen.push(cursor);
    };

    await expect(read()).rejects.toThrow("row 3 is missing");
    expect(seen).toEqual([1, 2]);
  });

  it("that follows gets what is written later, until it is ended", async () => {
    await write(1);
    const ended = new AbortController();
    const seen: number[] = [];
    const order = { follow: true, signal: ended.signal, onAway: () => {} };
    for await (const { cursor } of exportRows(database(), order)) {
      seen.push(cursor);
      if (cursor === 1) await write(2);
      if (cursor === 3) ended.abort();
    }

    expect(seen).toEqual([1, 2, 3]);
  });
});
