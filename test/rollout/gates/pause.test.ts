import { describe, expect, it } from "vitest";
import { toIso } from "#kernel/time.ts";
import { evaluateGate } from "#rollout/conditions/gate.ts";
import { beginWait, withoutWait } from "#rollout/conditions/wait.ts";
import type { NamedGate } from "#rollout/gates/contract.ts";
import { closeGates, viewGates, withConfirmation } from "#rollout/gates/registry.ts";
import { buildHead, buildWave } from "../../support/rollout/rollout-builders.ts";

const nowMs = Date.parse("2026-01-01T00:00:00.000Z");
const endMs = nowMs + 60_000;

const pauseGate = (on_timeout: "continue" | "pause" | "rollback"): NamedGate => ({
  ...{ kind: "pause", name: "sign-off", timeout_seconds: 60, on_timeout },
});

const judge = (gate: NamedGate, atMs: number, status = closeGates([gate], 1, nowMs)) =>
  evaluateGate({
    head: buildHead({ gates: [gate], gateStatus: status }),
    next: { kind: "wave", index: 1 },
    wave: 0,
    nowMs: atMs,
    windows: { now: { is_open: true } },
    fleet: null,
  });

describe("a gate that waits for a confirmation", () => {
  it("keeps the wave waiting, and people are notified", () => {
    expect(judge(pauseGate("continue"), endMs - 1)).toMatchObject({
      ...{ action: "wait", waitingFor: "gate", untilMs: endMs, asksPeople: true },
    });
  });

  it.each([
    ["continue", { action: "start" }],
    ["pause", { action: "stop", isOfImage: false, reason: expect.stringContaining("nobody") }],
    ["rollback", { action: "stop", isOfImage: true, rollsBack: true }],
  ] as const)("does at its end what it says: %s", (onTimeout, expected) => {
    expect(judge(pauseGate(onTimeout), endMs)).toMatchObject(expected);
  });

  it.each(["continue", "pause", "rollback"] as const)("is shown with what follows: %s", (end) => {
    const { until, on_timeout, gates } = viewGates(closeGates([pauseGate(end)], 1, nowMs));

    expect([until, on_timeout, gates[0]?.on_timeout]).toEqual([toIso(endMs), end, end]);
  });

  it("that continues is not shown as the end of one that stops the rollout later", () => {
    const later = { ...pauseGate("rollback"), name: "audit", timeout_seconds: 90 };
    const status = closeGates([pauseGate("continue"), later], 1, nowMs);
    const audited = withConfirmation(status, [later], { name: "audit", by: "ada", nowMs });

    expect(viewGates(status)).toMatchObject({
      until: toIso(endMs + 30_000),
      on_timeout: "rollback",
    });
    expect(viewGates(audited ?? status)).toMatchObject({
      until: toIso(endMs),
      on_timeout: "continue",
    });
  });

  it("that was confirmed in its time is open, also when it is polled later", () => {
    const gate = pauseGate("rollback");
    const closed = closeGates([gate], 1, nowMs);
    const confirmed = withConfirmation(closed, [gate], { name: "sign-off", by: "ada", nowMs });

    expect(judge(gate, endMs, confirmed)).toEqual({ action: "start" });
    expect(confirmed?.gates[0]).toMatchObject({ verdict: "pass", reason: "confirmed by ada" });
  });

  it("is not confirmed after its time, as its end applies, however late it is polled", () => {
    const gate = pauseGate("rollback");
    const closed = closeGates([gate], 1, nowMs);
    const confirmAt = (atMs: number) =>
      withConfirmation(closed, [gate], { name: "sign-off", by: "ada", nowMs: atMs });

    expect(confirmAt(endMs - 1)).toBeDefined();
    expect(confirmAt(endMs)).toBeUndefined();
  });

  it("is not confirmed twice, nor under another name", () => {
    const gate = pauseGate("pause");
    const closed = closeGates([gate], 1, nowMs);
    const once = withConfirmation(closed, [gate], { name: "sign-off", by: "ada", nowMs });

    expect(withConfirmation(closed, [gate], { name: "other", by: "ada", nowMs })).toBeUndefined();
    expect(
      once && withConfirmation(once, [gate], { name: "sign-off", by: "ben", nowMs }),
    ).toBeUndefined();
  });

  it("is not opened by a Skip, which opens the others", () => {
    const pause = pauseGate("pause");
    const checks: NamedGate = {
      ...{
        kind: "checks",
        name: "checks",
        checks: ["liveness"],
        clean_runs: 1,
        timeout_seconds: 60,
      },
    };
    const waiting = (gates: NamedGate[]) =>
      buildHead({
        ...{ gates, gateStatus: closeGates(gates, 1, nowMs) },
        wait: { since: "", round: 1, waitingFor: "gate", reason: "waits" },
      });

    expect(withoutWait(waiting([checks, pause]))?.gateStatus?.gates).toMatchObject([
      { name: "sign-off", verdict: "pending" },
    ]);
    expect(withoutWait(waiting([checks]))?.gateStatus).toBeUndefined();
    expect(withoutWait(waiting([pause]))).toBeUndefined();
  });

  it("does not close after the last wave", () => {
    const waves = [buildWave({ succeeded: 2 })];
    const head = buildHead({ waves, gates: [pauseGate("pause")], policy: { soak_seconds: 60 } });

    expect(beginWait(head, { ended: 0, next: { kind: "end" }, nowMs }).gateStatus).toBeUndefined();
  });
});
