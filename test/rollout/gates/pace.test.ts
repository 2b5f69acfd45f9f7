import { describe, expect, it } from "vitest";
import type { Facts } from "#rollout/conditions/condition.ts";
import { dueGates, evaluateGate, gateSleepMs } from "#rollout/conditions/gate.ts";
import type { NamedGate, WaveGates } from "#rollout/gates/contract.ts";
import { closeGates, withGateReadings } from "#rollout/gates/registry.ts";
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
    const next = { kind: "wave", index: 1 } as const;
    const facts = { head, next, wave: 0, nowMs: resumedMs + 2_000, windows: [], fleet: null };

    expect(evaluateGate(facts as unknown as Facts).action).toBe(action);
  });
});
