/** How checks stand, as it is read from a real Postgres. */
import { beforeEach, expect, it } from "vitest";
import { listChecks } from "#monitor/results/list.ts";
import { readSnapshots } from "#monitor/results/snapshots.ts";
import { newApiRow, newHeartbeatRow } from "#monitor/state/row.ts";
import { aHeartbeat, anApiCheck } from "../../../support/monitor/check-builders.ts";
import { aHeartbeatRow, anApiRow, saveRow } from "../../../support/monitor/check-rows.ts";
import { prepareDatabase } from "../../../support/run/prepare-database.ts";

const { database } = prepareDatabase();
const heartbeat = aHeartbeat({ id: "nightly" });
const apiChecks = [anApiCheck({ id: "verify-key" }), anApiCheck({ id: "liveness" })];
const definitions = { apiChecks, heartbeats: [heartbeat], channels: [] };
const nowMs = Date.UTC(2026, 4, 31, 12);

beforeEach(async () => {
  await database().query("TRUNCATE check_states, heartbeats CASCADE");
});

it("a ping of a heartbeat that is ok counts, although its row has an earlier one", async () => {
  await saveRow(database(), heartbeat.id, aHeartbeatRow({ lastPingAtMs: nowMs - 60_000 }));
  await database().query(
    "INSERT INTO heartbeats (id, token_hash, registered_by, last_ping_at, is_watched) VALUES ($1, '\\x00', 'ada', $2, false)",
    [heartbeat.id, new Date(nowMs)],
  );

  const snapshot = (await readSnapshots(database(), definitions)).get(heartbeat.id);

  expect(snapshot).toMatchObject({ status: "ok", lastAtMs: nowMs });
});

it("a row of a later version hides no other, and what is not defined is left out", async () => {
  await saveRow(database(), "verify-key", anApiRow());
  await saveRow(database(), "liveness", anApiRow({ status: "of-a-later-version" as never }));
  await saveRow(database(), "removed", newApiRow(0));

  expect([...(await readSnapshots(database(), definitions)).keys()]).toEqual(["verify-key"]);
});

it("a heartbeat that is muted before it is set up shows both", async () => {
  const quiet = { mutedUntilMs: nowMs + 60_000, maintenance: [] };
  await saveRow(database(), heartbeat.id, { ...newHeartbeatRow(), quiet });

  const list = listChecks({
    definitions: { apiChecks: [], heartbeats: [heartbeat] },
    whyOff: () => [],
    snapshots: await readSnapshots(database(), definitions),
    days: new Map(),
    alertTime: new Map(),
    nowMs,
  });

  expect(list.checks[0]).toMatchObject({
    status: "pending",
    since: null,
    reason: expect.stringContaining("not set up"),
    quiet_until: new Date(nowMs + 60_000).toISOString(),
  });
});
