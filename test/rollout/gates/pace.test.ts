import { describe, expect, it } from "vitest";
import { mayStart } from "#rollout/conditions/decide.ts";
import { dueGates, gateSleepMs } from "#rollout/conditions/gate.ts";
import type { NamedGate, WaveGates } from "#rollout/gates/contract.ts";
import { closeGates, withGateReadings } from "#rollout/gates/registry.ts";
import type { RolloutHead } from "#rollout/state.ts";
import { buildHead } from "../../support/rollout/rollout-builders.ts";

const nowMs = Date.parse("2026-01-01T00:00:00.000Z");
const times = { interval_seconds: 30, timeout_seconds: 600 };
const webhook: NamedGate = { kind: "webhook", name: "ci", channel: "ci", ...times };
const metrics: NamedGate = {
  ...{ kind: "prometheus", name: "errors", query: "up", pass: "< 1", count: 1, fail_limit: 1 },
  ...{ no_data: "inconclusive", ...times },
};

const closed = (gate: NamedGate) =>
  buildHead({ gates: [gate], gateStatus: closeGates([gate], 1, nowMs) });

const startAt = (head: RolloutHead, atMs: number) =>
  mayStart({
    ...{ head, next: { kind: "wave", index: 1 }, wave: undefined, nowMs: atMs, fleet: null },
    windows: { now: { is_open: true } },
  });

const passedAt = (gate: NamedGate, atMs: number) => {
  const reading = { at: "", value: "", verdict: "pass" } as const;
  const readings = [{ name: gate.name, found: { reading } }];
  const gateStatus = withGateReadings(closeGates([gate], 1, nowMs), [gate], { readings, atMs });
  return buildHead({ gates: [gate], gateStatus });
};

describe("the readings of gates", () => {
  it("begin at once for a webhook, and one interval after the wave for metrics", () => {
    expect(gateSleepMs(closed(webhook), nowMs)).toBe(0);
    expect(gateSleepMs(closed(metrics), nowMs)).toBe(30_000);
  });

  it("are not hurried by whatever else is polled for", () => {
    const [due] = dueGates(passedAt(metrics, nowMs + 30_000));

    expect(due).toMatchObject({ dueMs: nowMs + 60_000, attempt: 2 });
  });

  it("end once a webhook has passed, and go on for metrics, without a sleep of their own", () => {
    expect(dueGates(passedAt(webhook, nowMs))).toEqual([]);
    expect(dueGates(passedAt(metrics, nowMs))).toHaveLength(1);
    expect(gateSleepMs(passedAt(metrics, nowMs), nowMs)).toBe(Number.POSITIVE_INFINITY);
  });

  it("of metrics that have passed are taken anew after a Resume", () => {
    const wait = { since: "", round: 1, resumedAt: "2026-01-01T02:00:00.000Z" };
    const head = { ...passedAt(metrics, nowMs), wait };

    expect(gateSleepMs(head, Date.parse(wait.resumedAt))).toBeLessThanOrEqual(0);
  });

  it.each([
    ["inconclusive", "wait"],
    ["pass", "start"],
  ] as const)("of metrics that are %s after a Resume let the next wave %s", (verdict, action) => {
    const resumedMs = nowMs + 3_600_000;
    const { gateStatus } = passedAt(metrics, nowMs);
    const readings = [{ name: "errors", found: { reading: { at: "", value: "", verdict } } }];
    const read = withGateReadings(gateStatus as WaveGates, [metrics], {
      readings,
      atMs: resumedMs + 1_000,
    });
    const wait = { since: "", round: 1, resumedAt: new Date(resumedMs).toISOString() };
    const head = buildHead({ gates: [metrics], gateStatus: read, wait });

    expect(startAt(head, resumedMs + 2_000)).toMatchObject({ action });
  });
});

describe("a gate that has passed, and is inconclusive when it is read again", () => {
  const lostMs = nowMs + 3_600_000;
  const doubtful = (over: Parameters<typeof buildHead>[0] = {}) => {
    const { gateStatus } = passedAt(metrics, nowMs);
    const reading = { at: "", value: "no data", verdict: "inconclusive" } as const;
    const read = withGateReadings(gateStatus as WaveGates, [metrics], {
      readings: [{ name: "errors", found: { reading } }],
      atMs: lostMs,
    });
    const wait = { since: "2026-01-01T00:00:00.000Z", round: 1 };
    return buildHead({ gates: [metrics], gateStatus: read, wait, ...over });
  };
  const asksForApproval = { policy: { approvals: "every_wave" } } as const;

  it("keeps the next wave waiting, and stops the rollout at the end of its time", () => {
    expect(startAt(doubtful(), lostMs + 1)).toMatchObject({
      ...{ action: "wait", waitingFor: "gate", untilMs: lostMs + 600_000 },
      reason: "waits for the gate errors: 1 readings passed, the last was no data",
    });
    expect(startAt(doubtful(), lostMs + 600_000)).toMatchObject({ action: "stop", cause: "gate" });
  });

  it("does not take the place of an approval that is waited for, however long that takes", () => {
    const head = doubtful(asksForApproval);

    for (const atMs of [lostMs + 1, lostMs + 86_400_000]) {
      expect(startAt(head, atMs)).toMatchObject({ action: "wait", waitingFor: "approval" });
    }
  });

  it("is read at its own pace until its time is over, and then as seldom as others are polled", () => {
    const head = doubtful(asksForApproval);

    expect(gateSleepMs(head, lostMs)).toBe(30_000);
    expect(gateSleepMs(head, lostMs + 600_000)).toBe(Number.POSITIVE_INFINITY);
  });
});
