import { describe, expect, it } from "vitest";
import { mayStart } from "#rollout/conditions/decide.ts";
import type { Next } from "#rollout/conditions/next.ts";
import { sleepMsOf, withoutWait, withVerdict } from "#rollout/conditions/wait.ts";
import type { WaveGates } from "#rollout/gates/contract.ts";
import { closeGates } from "#rollout/gates/registry.ts";
import type { RolloutHead } from "#rollout/state.ts";
import { openingsAt } from "#rollout/windows/calendar.ts";
import { RolloutWindow } from "#rollout/windows/contract.ts";
import { buildChecksGate, withReports } from "../../support/rollout/gates.ts";
import { buildHead, buildWave } from "../../support/rollout/rollout-builders.ts";

const nowMs = Date.parse("2026-12-24T12:00:00.000Z");
const freeze = RolloutWindow.parse({
  id: "year-end",
  kind: "freeze",
  ends: "2027-01-04T00:00:00Z",
  reason: "nobody is here",
});
const gate = buildChecksGate({ checks: ["a"] });
const endMs = Date.parse("2027-01-04T00:00:00Z");

const between = (over: Partial<RolloutHead> = {}) =>
  buildHead({ waves: [buildWave({ succeeded: 2 }), buildWave()], ...over });
const before = { kind: "wave", index: 1 } as const;

type Over = { next?: Next; windows?: RolloutWindow[] | "unread" | "stale" };

const judge = (head: RolloutHead, { next = before, windows = [freeze] }: Over = {}) => {
  const startMs = Date.parse(head.policy?.not_before ?? "") || undefined;
  const said = typeof windows === "string" ? windows : openingsAt(windows, { nowMs, startMs });
  return mayStart({ head, next, wave: undefined, nowMs, windows: said, fleet: null });
};

describe("a freeze", () => {
  it("keeps the next wave waiting until its end, and says why", () => {
    expect(judge(between())).toEqual({
      action: "wait",
      waitingFor: "window",
      reason: "waits, since the freeze year-end is in force: nobody is here",
      untilMs: endMs,
    });
  });

  it.each<[string, Next]>([
    ["a deploy of a wave that has begun", { kind: "deploy" }],
    ["the end", { kind: "end" }],
  ])("does not keep %s", (_, next) => {
    expect(judge(between(), { next })).toEqual({ action: "start" });
  });

  it("is looked at again after an hour, although its end is known", () => {
    const verdict = judge(between());

    expect(verdict).toMatchObject({ action: "wait" });
    if (verdict.action === "wait") {
      expect(sleepMsOf(withVerdict(between(), verdict), verdict, nowMs)).toBe(3_600_000);
      expect(sleepMsOf(withVerdict(between(), verdict), verdict, endMs - 5)).toBe(5);
    }
  });

  it("is passed over by a Skip, for this wave alone", () => {
    const wait = { since: "2026-12-24T12:00:00.000Z", round: 1, waitingFor: "window" as const };

    const skipped = withoutWait(between({ wait }));

    expect(skipped?.wait).not.toHaveProperty("waitingFor");
    expect(judge(skipped as RolloutHead)).toEqual({ action: "start" });
  });
});

describe("what is watched in a wait for a window", () => {
  const since = new Date(nowMs).toISOString();
  const sleepMs = (head: RolloutHead) => {
    const verdict = judge(head);
    if (verdict.action !== "wait") throw new Error("it does not wait");
    return sleepMsOf(withVerdict(head, verdict), verdict, nowMs);
  };

  it("is a wave that soaked: a look every ten minutes at the least", () => {
    const wait = { since, round: 1, soakUntil: since, lookedAt: since };

    expect(sleepMs(between({ wait }))).toBe(600_000);
  });

  it("is a gate that has opened, so that a failed run stops the rollout", () => {
    const read = (status: WaveGates, cleanRuns: number) =>
      withReports(status, gate, { reports: [{ check: "a", cleanRuns, failedRun: null }] });
    const open = read(closeGates([gate], 1, nowMs), 1);
    const emptied = read(open, 0);

    expect(sleepMs(between({ gates: [gate], gateStatus: open }))).toBe(600_000);
    expect(judge(between({ gates: [gate], gateStatus: emptied }))).toMatchObject({
      waitingFor: "window",
    });
  });
});

describe("windows that could not be read", () => {
  const wait = { since: new Date(nowMs - 300_000).toISOString(), round: 1 };

  it("keep the wave waiting, and are read again soon, then once a minute", () => {
    const waits = { action: "wait", waitingFor: "window" };

    expect(judge(between(), { windows: "unread" })).toMatchObject({ ...waits, retryMs: 2_000 });
    expect(judge(between({ wait }), { windows: "unread" })).toMatchObject({ retryMs: 30_000 });
  });

  it("do not keep the fleet from being listed, which fails without the database, too", () => {
    const first = between({ captured: false, currentWave: 0, waves: [] });

    expect(judge(first, { windows: "unread" })).toEqual({ action: "start" });
  });

  it("or have changed since, are read again at once", () => {
    expect(judge(between(), { windows: "stale" })).toEqual({ action: "look" });
  });
});

describe("a scheduled start", () => {
  const scheduled = between({
    currentWave: 0,
    captured: false,
    waves: [],
    policy: { not_before: "2026-12-24T22:00:00+01:00" },
  });

  it("is waited for, to the very millisecond", () => {
    expect(judge(scheduled, { windows: [] })).toMatchObject({
      action: "wait",
      waitingFor: "window",
      untilMs: Date.parse("2026-12-24T21:00:00Z"),
    });
  });

  it("in the past is none", () => {
    const late = { ...scheduled, policy: { not_before: "2026-12-24T12:00:00Z" } };

    expect(judge(late, { windows: [] })).toEqual({ action: "start" });
  });

  it("in a freeze ends with the freeze", () => {
    expect(judge(scheduled)).toMatchObject({ reason: "waits for its start", untilMs: endMs });
  });

  it("is about the first wave alone, which somebody may have started earlier", () => {
    const started = between({ currentWave: 1, policy: { not_before: "2026-12-24T21:00:00Z" } });

    expect(judge(started, { windows: [] })).toEqual({ action: "start" });
  });

  it("is over for good once an operator has ended the wait for it, and a freeze is not", () => {
    const wait = {
      since: "2026-12-24T12:00:00.000Z",
      round: 1,
      waitingFor: "window" as const,
      isForStart: true as const,
    };

    const skipped = withoutWait({ ...scheduled, wait }) as RolloutHead;

    expect(judge(scheduled, { windows: [] })).toMatchObject({ isForStart: true });
    expect(judge(skipped, { windows: [] })).toEqual({ action: "start" });
    expect(judge(skipped)).toMatchObject({ reason: expect.stringContaining("freeze year-end") });
  });
});
