import { stripVTControlCharacters } from "node:util";
import { expect, it } from "vitest";
import { drillsOf, heartbeatsOf, reportDrills, reportHeartbeats } from "#cli/checks/heartbeats.ts";
import type { CheckSnapshot, Heartbeat } from "#monitor/contract.ts";
import { listChecks } from "#monitor/results/list.ts";
import { aHeartbeat, anApiCheck, aSnapshot } from "../../support/monitor/check-builders.ts";

const hourMs = 3_600_000;
/** A Monday. */
const nowMs = Date.UTC(2026, 0, 5, 12);

const nightly = aHeartbeat({
  id: "nightly",
  periodSeconds: undefined,
  schedule: { cron: "0 3 * * *", timezone: "UTC" },
});
const weekly = aHeartbeat({
  id: "weekly",
  periodSeconds: undefined,
  schedule: { cron: "0 9 * * 1", timezone: "UTC" },
  graceSeconds: 960,
  drill: { graceSeconds: 900, channel: "production" },
});

function listOf(heartbeats: Heartbeat[], snapshots: CheckSnapshot[] = []) {
  return listChecks({
    definitions: { apiChecks: [anApiCheck()], heartbeats },
    whyOff: () => [],
    snapshots: new Map(snapshots.map((one) => [one.checkId, one])),
    days: new Map(),
    alertTime: new Map(),
    nowMs,
  });
}

/** The cells of each row below the heads. */
function rowsOf(table: string): string[][] {
  const lines = stripVTControlCharacters(table).split("\n").slice(1);
  return lines.map((line) => line.trim().split(/ {2,}/));
}

const pinged = {
  kind: "heartbeat",
  status: "ok",
  locations: {},
  lastDurationMs: null,
  sinceMs: nowMs - 24 * hourMs,
  lastAtMs: nowMs - hourMs,
} as const;

it("heartbeats are listed alone, with their last ping, what is due and their rule", () => {
  const list = listOf(
    [aHeartbeat(), nightly, weekly],
    [aSnapshot({ ...pinged, checkId: nightly.id, dueAtMs: nowMs + 17 * hourMs })],
  );

  expect(rowsOf(reportHeartbeats(heartbeatsOf(list)))).toEqual([
    [
      "certificate-workflow",
      "waiting",
      "every 24 h, grace 2 h",
      "not set up: `vedette heartbeats register certificate-workflow` makes its ping URL",
    ],
    [
      "nightly",
      "ok",
      "2026-01-04 12:00:00 UTC",
      "2026-01-05 11:00:00 UTC",
      "2026-01-06 05:00:00 UTC",
      "0 3 * * * UTC, grace 2 h",
    ],
    ["weekly", "waiting", "0 9 * * 1 UTC, grace 16 min", "waits for the first run of the drill"],
  ]);
});

it.each([
  [
    "failed",
    { alert: { episode: 2, openedAtMs: nowMs, reason: "no ping", locations: [] } },
    "#2 since 2026-01-05 12:00:00 UTC: no ping",
  ],
  ["failed", { suppressed: { by: "database", reason: "no ping" } }, "suppressed by database"],
  ["paused", { missing: ["acme.names"] }, "off: set acme.names"],
] as const)("the last cell of one that is %s says why: %j", (status, given, words) => {
  const alert = "alert" in given ? { ...given.alert, acknowledged: null, rollout: null } : null;
  const heartbeat = aHeartbeat(
    "missing" in given ? { job: "certificate-renewal", missingSettings: [...given.missing] } : {},
  );
  const snapshot = aSnapshot({
    ...pinged,
    checkId: heartbeat.id,
    status,
    dueAtMs: null,
    alert: alert && { ...alert, locations: [] },
    suppressed: "suppressed" in given ? { ...given.suppressed, sinceMs: nowMs } : null,
  });

  const [row] = rowsOf(reportHeartbeats(heartbeatsOf(listOf([heartbeat], [snapshot]))));

  expect(row?.at(-1)).toBe(words);
});

it("drills are listed alone, with what they test and how long the channels have", () => {
  const due = { checkId: weekly.id, dueAtMs: nowMs + 165 * hourMs };
  const list = listOf([nightly, weekly], [aSnapshot({ ...pinged, ...due })]);

  expect(rowsOf(reportDrills(drillsOf(list)))).toEqual([
    [
      "weekly",
      "ok",
      "2026-01-04 12:00:00 UTC",
      "2026-01-05 11:00:00 UTC",
      "2026-01-12 09:00:00 UTC",
      "0 9 * * 1 UTC, grace 15 min",
      "production",
    ],
  ]);
});
