import { describe, expect, it } from "vitest";
import { evaluateGate, gateSleepMs } from "#rollout/conditions/gate.ts";
import type { WaveGates } from "#rollout/gates/contract.ts";
import { closeGates } from "#rollout/gates/registry.ts";
import { buildChecksGate, withReports } from "../../support/rollout/gates.ts";
import { buildHead } from "../../support/rollout/rollout-builders.ts";

const gate = buildChecksGate({ checks: ["verify-key", "liveness"], clean_runs: 3 });
const closedAtMs = Date.parse("2026-01-01T00:00:00.000Z");
const atTimeoutMs = closedAtMs + 600_000;

const failedRun = {
  at: "2026-01-01T00:01:00.000Z",
  location: "fra",
  reason: "connection refused",
  status: null,
  duration_ms: 3,
};

const closed = closeGates([gate], 1, closedAtMs);
const clean = (check: string, cleanRuns: number) => ({ check, cleanRuns, failedRun: null });

const read = (...reports: Parameters<typeof withReports>[2]["reports"]) =>
  withReports(closed, gate, { reports });

const judge = (gateStatus: WaveGates, nowMs: number) =>
  evaluateGate({
    head: buildHead({ gates: [gate], gateStatus }),
    next: { kind: "wave", index: 1 },
    wave: 0,
    nowMs,
    windows: { now: { is_open: true } },
    fleet: null,
  });

describe("evaluateGate", () => {
  it("waits while a check has had too few clean runs", () => {
    const status = read(clean("verify-key", 3), clean("liveness", 2));

    expect(judge(status, closedAtMs)).toMatchObject({ action: "wait", waitingFor: "gate" });
  });

  it("opens when each check has had enough", () => {
    const status = read(clean("verify-key", 3), clean("liveness", 4));

    expect(judge(status, closedAtMs)).toEqual({ action: "start" });
  });

  it("opens at the very end of its time, too", () => {
    const status = read(clean("verify-key", 3), clean("liveness", 3));

    expect(judge(status, atTimeoutMs)).toEqual({ action: "start" });
  });

  it("pauses for a failed run whatever went well besides, and says where and why", () => {
    const failed = { check: "liveness", cleanRuns: 9, failedRun };
    const status = read(clean("verify-key", 3), failed);

    expect(judge(status, closedAtMs)).toMatchObject({
      action: "stop",
      cause: "gate",
      isOfImage: true,
      reason: "the gate is closed: liveness failed at fra (connection refused)",
    });
  });

  it("pauses when its time is over, and says what is missing", () => {
    const status = read(clean("verify-key", 3), clean("liveness", 1));

    expect(judge(status, atTimeoutMs - 1)).toMatchObject({ action: "wait", waitingFor: "gate" });
    expect(judge(status, atTimeoutMs)).toMatchObject({
      action: "stop",
      cause: "gate",
      isOfImage: false,
      reason: "the gate timed out: of clean runs liveness had 1 of 3",
    });
  });

  it("keeps what was known of a check that is not reported", () => {
    const before = read(clean("verify-key", 2), clean("liveness", 2));

    expect(withReports(before, gate, { reports: [] })).toEqual(before);
  });
});

describe("the time between two readings of checks", () => {
  it.each([
    [10, 1_000],
    [600, 2_000],
    [86_400, 288_000],
  ])("of a gate of %i seconds is %i", (timeout_seconds, expected) => {
    const timed = { ...gate, timeout_seconds };
    const wait = { since: "", round: 1, waitingFor: "gate" } as const;
    const gateStatus = closeGates([timed], 1, closedAtMs);

    expect(gateSleepMs(buildHead({ gates: [timed], gateStatus, wait }), closedAtMs)).toBe(expected);
  });
});
