import { expect, it } from "vitest";
import type { CheckSnapshot } from "#monitor/contract.ts";
import { listChecks } from "#results/list.ts";
import { anApiCheck, aSnapshot } from "../support/check-builders.ts";

const minute = 60_000;
const nowMs = Date.UTC(2026, 0, 1);
const definitions = { apiChecks: [anApiCheck({ frequencySeconds: 60 })], heartbeats: [] };

function statusOf(snapshot: CheckSnapshot | undefined) {
  const snapshots = new Map(snapshot === undefined ? [] : [["verify-key", snapshot]]);
  const from = { definitions, snapshots, days: new Map(), alertTime: new Map(), nowMs };
  return listChecks(from).checks[0]?.status;
}

it("a check is what its last run said, for three periods", () => {
  expect(statusOf(aSnapshot({ lastAtMs: nowMs - 3 * minute }))).toBe("ok");
  expect(statusOf(aSnapshot({ lastAtMs: nowMs - 3 * minute - 1 }))).toBe("silent");
});

it("a run that is to come, by a clock that was wrong, says nothing of now", () => {
  const nextYearMs = nowMs + 365 * 24 * 60 * minute;

  expect(statusOf(aSnapshot({ lastAtMs: nextYearMs }))).toBe("silent");
});

it("what failed stays failed until someone says otherwise", () => {
  const hourAgoMs = nowMs - 60 * minute;

  expect(statusOf(aSnapshot({ lastAtMs: hourAgoMs, status: "failed" }))).toBe("failed");
});

it("a check that was never written down is pending", () => {
  expect(statusOf(undefined)).toBe("pending");
});
