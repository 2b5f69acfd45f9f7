/** The rows of checks and heartbeats that are defined no more, in a real Postgres. */
import { beforeEach, describe, expect, it } from "vitest";
import { deleteRemoved } from "#monitor/state/removed.ts";
import type { Row } from "#monitor/state/row.ts";
import { anApiCheck } from "../../../support/monitor/check-builders.ts";
import { aHeartbeatRow, anApiRow, saveRow } from "../../../support/monitor/check-rows.ts";
import { always } from "../../../support/monitor/standard-definitions.ts";
import { prepareDatabase } from "../../../support/run/prepare-database.ts";

const { database } = prepareDatabase();

beforeEach(async () => {
  await database().query(
    "TRUNCATE check_states, heartbeats, heartbeat_pings, alert_queues, alert_outbox",
  );
});

const day = 86_400_000;
const clean = (defined: string[]) => {
  const apiChecks = defined.map((id) => anApiCheck({ id }));
  return deleteRemoved(database(), always({ apiChecks }), new Date(Date.now() - 30 * day));
};

/** Stores a row that was found to be removed so many days ago. */
async function remove(id: string, days: number, row: Row = anApiRow({ status: "paused" })) {
  await saveRow(database(), id, row);
  await database().query(
    "UPDATE check_states SET removed_at = now() - $2 * interval '1 day' WHERE id = $1",
    [id, days],
  );
}

const idle = { sequence: 2, generation: 4, waiting: [], dead: [], accepted: null };
const saveQueue = (key: string, queue: object) =>
  database().query("INSERT INTO alert_queues (key, queue) VALUES ($1, $2)", [key, queue]);

async function list(sql: string): Promise<string[]> {
  const { rows } = await database().query<{ id: string }>(sql);
  return rows.map(({ id }) => id);
}
const states = () => list("SELECT id FROM check_states ORDER BY id");
const queues = () => list("SELECT key AS id FROM alert_queues ORDER BY key");

describe("what is stored of a removed check", () => {
  it("is deleted after its time, with ping URL, pings and queues", async () => {
    await remove("old", 31, aHeartbeatRow());
    await saveRow(database(), "kept", anApiRow());
    await database().query(
      "INSERT INTO heartbeats (id, token_hash, registered_by) VALUES ('old', '\\x01', 'ann')",
    );
    await database().query(
      "INSERT INTO heartbeat_pings (id, kind, at) VALUES ('old', 'fail', now())",
    );
    for (const key of ["old", "old@chat", "drill:old@chat", "kept@chat", "older"]) {
      await saveQueue(key, idle);
    }

    await clean(["kept"]);

    expect(await states()).toEqual(["kept"]);
    expect(await queues()).toEqual(["kept@chat", "older"]);
    expect(
      await list("SELECT id FROM heartbeats UNION ALL SELECT id FROM heartbeat_pings"),
    ).toEqual([]);
  });

  it("counts from when it was found to be removed, however old its status is", async () => {
    await saveRow(database(), "old", anApiRow({ status: "paused", sinceMs: 0 }));

    await clean([]);
    await clean([]);

    expect(await states()).toEqual(["old"]);
  });

  it("is kept for one that came back, whose time counts anew", async () => {
    await remove("back", 31);
    await clean(["back"]);

    await clean([]);
    await clean([]);

    expect(await states()).toEqual(["back"]);
  });

  it("is kept while an event waits, is a dead letter or not in its queue yet, and while an alert is open", async () => {
    const alert = {
      episode: 1,
      openedAtMs: 0,
      reason: "local: refused",
      locations: ["local"],
      acknowledged: null,
      rollout: null,
    };
    for (const id of ["dead", "posted", "waiting"]) await remove(id, 31);
    await remove("open", 31, anApiRow({ alert }));
    await saveQueue("waiting@chat", { ...idle, waiting: [{ sequence: 2 }] });
    await saveQueue("drill:dead", { ...idle, dead: [{ sequence: 2 }] });
    await saveQueue("posted", idle);
    await database().query("INSERT INTO alert_outbox (queue, order_) VALUES ('posted', '{}')");

    await clean([]);

    expect(await states()).toEqual(["dead", "open", "posted", "waiting"]);
    expect(await queues()).toEqual(["drill:dead", "posted", "waiting@chat"]);
  });
});
