import { expect, it } from "vitest";
import type { HeartbeatState, LocationState } from "#monitor/contract.ts";
import { toSnapshot } from "#monitor/results/snapshots.ts";
import { newHeartbeatRow, type Row } from "#monitor/state/row.ts";
import { aHeartbeat } from "../../support/monitor/check-builders.ts";
import { aHeartbeatRow, anApiRow } from "../../support/monitor/check-rows.ts";

const hourMs = 3_600_000;
const noonMs = Date.UTC(2026, 0, 5, 12);
const hourly = aHeartbeat({ id: "nightly", periodSeconds: 3_600, graceSeconds: 60 });

function snapshotOf(row: Row, { heartbeat = hourly, lastPingAtMs = null as number | null } = {}) {
  const id = row.kind === "api" ? "verify-key" : heartbeat.id;
  const definitions = {
    apiChecks: new Set(["verify-key"]),
    heartbeats: new Map([[heartbeat.id, heartbeat]]),
  };
  return toSnapshot({ id, row, lastPingAtMs }, definitions);
}

const alert = {
  episode: 3,
  openedAtMs: noonMs,
  reason: "refused",
  locations: ["fra"],
  acknowledged: null,
  rollout: null,
};

function at(durationMs: number, isSilent = false): LocationState {
  const grade = "ok" as const;
  return { grade, reportedAtMs: noonMs, durationMs, reason: null, tlsDaysLeft: null, isSilent };
}

it("an API check has the tick of its last decided run, and how long the slowest location took", () => {
  const locations = { fra: at(20), iad: at(30), sin: at(900, true) };

  const snapshot = snapshotOf(anApiRow({ decidedRunMs: noonMs, locations }));

  expect(snapshot).toMatchObject({
    checkId: "verify-key",
    kind: "api",
    status: "ok",
    lastAtMs: noonMs,
    lastDurationMs: 30,
    dueAtMs: null,
    locations,
  });
});

it("an API check that no location has reported has no duration", () => {
  const locations = { sin: at(900, true) };

  expect(snapshotOf(anApiRow({ locations }))?.lastDurationMs).toBeNull();
});

it("nothing is shown of a row whose check became a heartbeat", () => {
  const definitions = { apiChecks: new Set<string>(), heartbeats: new Map([[hourly.id, hourly]]) };
  const known = { id: hourly.id, row: anApiRow(), lastPingAtMs: null };

  expect(toSnapshot(known, definitions)).toBeUndefined();
});

const pinged = (changes: Partial<HeartbeatState> = {}) =>
  aHeartbeatRow({ createdAtMs: 0, lastPingAtMs: noonMs, ...changes });

it("a heartbeat is due by its definition of now", () => {
  expect(snapshotOf(pinged())).toMatchObject({
    lastAtMs: noonMs,
    dueAtMs: noonMs + hourMs + 60_000,
  });
  const daily = { ...hourly, periodSeconds: 86_400 };
  expect(snapshotOf(pinged(), { heartbeat: daily })?.dueAtMs).toBe(noonMs + 24 * hourMs + 60_000);
});

it("a heartbeat that is ok has the later ping, which its row does not have", () => {
  const lastPingAtMs = noonMs + 5_000;

  expect(snapshotOf(pinged(), { lastPingAtMs })).toMatchObject({
    lastAtMs: lastPingAtMs,
    dueAtMs: lastPingAtMs + hourMs + 60_000,
  });
  expect(snapshotOf(pinged(), { lastPingAtMs: noonMs - 5_000 })?.lastAtMs).toBe(noonMs);
});

it("a heartbeat that failed has the last ping before that, and no deadline while its alert is open", () => {
  const failed = pinged({ status: "failed", alert });

  expect(snapshotOf(failed, { lastPingAtMs: noonMs + 5_000 })).toMatchObject({
    status: "failed",
    lastAtMs: noonMs,
    dueAtMs: null,
    alert,
  });
});

it("a heartbeat by cron is expected at the time after that of its last ping", () => {
  const schedule = { cron: "0 * * * *", timezone: "UTC" };
  const heartbeat = aHeartbeat({ id: "nightly", periodSeconds: undefined, schedule });
  const row = pinged({ settledMs: noonMs });

  const snapshot = snapshotOf(row, { heartbeat, lastPingAtMs: noonMs + hourMs + 5_000 });

  expect(snapshot).toMatchObject({
    expectedAtMs: noonMs + 2 * hourMs,
    dueAtMs: noonMs + 2 * hourMs + heartbeat.graceSeconds * 1_000,
  });
});

it("a heartbeat that nobody pings yet has no snapshot until it is muted", () => {
  const quiet = { mutedUntilMs: noonMs, maintenance: [] };

  expect(snapshotOf(newHeartbeatRow())).toBeUndefined();
  expect(snapshotOf({ ...newHeartbeatRow(), quiet })).toMatchObject({
    sinceMs: null,
    dueAtMs: null,
    quiet,
  });
});
