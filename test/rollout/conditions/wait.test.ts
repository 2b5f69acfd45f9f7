import { describe, expect, it } from "vitest";
import { toIso } from "#kernel/time.ts";
import type { Verdict } from "#rollout/conditions/condition.ts";
import { mayStart } from "#rollout/conditions/decide.ts";
import { nextOf } from "#rollout/conditions/next.ts";
import {
  beginWait,
  sleepMsOf,
  unjudgedWave,
  withEnded,
  withResumedWait,
  withVerdict,
} from "#rollout/conditions/wait.ts";
import { closeGates } from "#rollout/gates/registry.ts";
import type { RolloutHead } from "#rollout/state.ts";
import { buildChecksGate, withReports } from "../../support/rollout/gates.ts";
import { buildHead, buildWave } from "../../support/rollout/rollout-builders.ts";

const nowMs = Date.parse("2026-01-01T00:00:00.000Z");
const gate = buildChecksGate({ checks: ["liveness"] });

/** The first of two waves has ended, and the rollout waits. */
function waiting(over: Partial<RolloutHead>): RolloutHead {
  const waves = [buildWave({ succeeded: 2 }), buildWave()];
  const head = buildHead({ waves, currentWave: 1, ...over });
  return beginWait(head, { ended: 0, next: nextOf(head), nowMs });
}

/** The head after a look at the fleet at this time. */
const seenAt = (head: RolloutHead, atMs: number, suspects: string[] = []) =>
  ({ ...head, wait: { ...head.wait, lookedAt: toIso(atMs), suspects } }) as RolloutHead;

/** The head that waits, as the verdict has it. */
function waitingBy(head: RolloutHead, verdict: Verdict): RolloutHead {
  if (verdict.action !== "wait") throw new Error("it does not wait");
  return withVerdict(head, verdict);
}

const verdictAt = (head: RolloutHead, atMs: number) =>
  mayStart({
    head,
    next: nextOf(head),
    wave: 0,
    nowMs: atMs,
    windows: { now: { is_open: true } },
    fleet: null,
  });

describe("a wave that ended while no run led the rollout", () => {
  const ended = [buildWave({ succeeded: 1, failed: 1 }), buildWave()];

  it("is found, until it counts as ended", () => {
    const head = buildHead({ waves: ended, currentWave: 1, endedWaves: 0 });

    expect(unjudgedWave(head)).toBe(0);
    expect(unjudgedWave(withEnded(head, 0, 0))).toBeUndefined();
  });

  it.each([
    ["before the first wave", { waves: ended, currentWave: 0, endedWaves: 0 }],
    ["while it has members without a result", { currentWave: 1, endedWaves: 0 }],
  ])("is not, %s", (_, over) => {
    expect(unjudgedWave(buildHead(over))).toBeUndefined();
  });
});

describe("a wait that was interrupted", () => {
  const soaking = waiting({ policy: { soak_seconds: 60 } });

  it.each(["operator", "run", "version"] as const)("goes on after a pause by %s", (cause) => {
    const { wait } = withResumedWait({ ...soaking, cause }, nowMs + 5_000);

    expect(wait).toMatchObject(soaking.wait ?? {});
  });

  it.each([
    ["budget", undefined],
    ["fleet", undefined],
    ["operator", 0],
  ] as const)("of a wave whose last results came after a stop by %s", (cause, unjudged) => {
    const waves = [buildWave({ succeeded: 1, failed: 1 }), buildWave()];
    const stopped = buildHead({ waves, currentWave: 1, endedWaves: 0, cause });

    expect(unjudgedWave(withResumedWait(stopped, nowMs))).toBe(unjudged);
  });

  it.each(["sentinels", "budget", "fleet", "gate"] as const)("is over after %s", (cause) => {
    const { wait, gateStatus } = withResumedWait({ ...soaking, cause }, nowMs + 5_000);

    expect([wait, gateStatus]).toEqual([undefined, undefined]);
  });

  it("is over when some of the wave is deployed again", () => {
    const again = [buildWave({ succeeded: 1 }), buildWave()];

    expect(
      withResumedWait({ ...soaking, waves: again, cause: "operator" }, nowMs).wait,
    ).toBeUndefined();
  });

  it("leaves the gate as long as it had left", () => {
    const atGate = waiting({ gates: [gate], gateStatus: closeGates([gate], 1, nowMs) });
    const hourMs = 3_600_000;

    const resumed = withResumedWait({ ...atGate, cause: "operator" }, nowMs + hourMs);

    expect(verdictAt(atGate, nowMs + hourMs)).toMatchObject({ action: "stop", cause: "gate" });
    expect(verdictAt(resumed, nowMs + hourMs)).toMatchObject({ action: "wait" });
    expect(verdictAt(resumed, nowMs + hourMs + 600_000)).toMatchObject({ action: "stop" });
  });
});

describe("after an interruption that was longer than the wait", () => {
  const laterMs = nowMs + 7_200_000;
  const resume = (head: RolloutHead) => withResumedWait({ ...head, cause: "operator" }, laterMs);

  it("a soak takes one look before the next wave starts", () => {
    const resumed = resume(waiting({ policy: { soak_seconds: 60 } }));

    expect(verdictAt(resumed, laterMs)).toMatchObject({ action: "wait", waitingFor: "soak" });
    expect(verdictAt(seenAt(resumed, laterMs + 50), laterMs + 100)).toEqual({ action: "start" });
  });

  it("a gate that was clean has its checks read again", () => {
    const clean = { check: "liveness", cleanRuns: 1, failedRun: null };
    const head = waiting({ gates: [gate] });
    const status = withReports(closeGates([gate], 1, nowMs), gate, { reports: [clean] });
    const resumed = resume({ ...head, gateStatus: status });
    const again = { reports: [clean], atMs: laterMs + 50 };
    const read = withReports(resumed.gateStatus ?? status, gate, again);

    expect(verdictAt(resumed, laterMs)).toMatchObject({ action: "wait", waitingFor: "gate" });
    expect(verdictAt(resumed, laterMs + 600_000)).toMatchObject({ action: "stop", cause: "gate" });
    expect(verdictAt({ ...resumed, gateStatus: read }, laterMs + 100)).toEqual({ action: "start" });
  });

  it("a gate that had opened long ago is read again, and has not timed out", () => {
    const clean = { check: "liveness", cleanRuns: 1, failedRun: null };
    const head = waiting({ gates: [gate] });
    const gateStatus = withReports(closeGates([gate], 1, nowMs), gate, { reports: [clean] });
    const open = { ...head, gateStatus };
    const pausedAt = toIso(laterMs - 1_000);

    const resumed = resume({ ...open, updatedAt: pausedAt });

    expect(verdictAt(resumed, laterMs)).toMatchObject({ action: "wait", waitingFor: "gate" });
  });
});

describe("a soak whose fleet cannot be looked at", () => {
  const head = waiting({ policy: { soak_seconds: 60 } });
  const endMs = nowMs + 60_000;

  it("waits for a look after its end, and stops for the fleet without one", () => {
    const early = seenAt(head, endMs - 1);

    const missed = verdictAt(early, endMs);

    expect(missed).toMatchObject({ waitingFor: "soak", untilMs: endMs + 300_000 });
    expect(verdictAt(waitingBy(early, missed), endMs + 299_999)).toMatchObject({ action: "wait" });
    expect(verdictAt(waitingBy(early, missed), endMs + 300_000)).toMatchObject({
      action: "stop",
      cause: "fleet",
      isOfImage: false,
    });
  });

  it("has that time again however long something else was waited for", () => {
    const dayMs = endMs + 86_400_000;
    const idle = seenAt(head, dayMs - 600_000);
    const approving = { ...idle, wait: { ...idle.wait, waitingFor: "approval" } } as RolloutHead;
    const missed = verdictAt(approving, dayMs);

    expect(missed).toMatchObject({ waitingFor: "soak", untilMs: dayMs + 300_000 });
    expect(verdictAt(waitingBy(approving, missed), dayMs + 300_000)).toMatchObject({
      action: "stop",
    });
  });

  it("is looked at every few seconds then, however long the soak was", () => {
    const long = waiting({ policy: { soak_seconds: 604_800 } });
    const overMs = nowMs + 604_800_000;
    const verdict = verdictAt(long, overMs);

    expect(verdict.action === "wait" && sleepMsOf(long, verdict, overMs)).toBe(5_000);
  });
});

describe("a look", () => {
  const week = 604_800;

  it("comes a few hundred times in a soak of a week, also beside a gate", () => {
    const head = waiting({ gates: [gate], policy: { soak_seconds: week } });
    const verdict = verdictAt(head, nowMs);

    const sleepMs = verdict.action === "wait" ? sleepMsOf(head, verdict, nowMs) : 0;

    expect(verdict).toMatchObject({ waitingFor: "soak" });
    expect((week * 1_000) / sleepMs).toBeLessThanOrEqual(300);
  });

  it("comes sooner once a sentinel is suspected, and once more after the end", () => {
    const head = waiting({ policy: { soak_seconds: week } });
    const endMs = nowMs + week * 1_000;
    const suspecting = seenAt(head, endMs, ["a"]);
    const verdict = verdictAt(suspecting, nowMs);

    expect(verdict.action === "wait" && sleepMsOf(suspecting, verdict, nowMs)).toBe(5_000);
    expect(verdictAt(seenAt(head, endMs), endMs)).toEqual({ action: "start" });
    const late = verdictAt(suspecting, endMs);
    expect(late).toMatchObject({ waitingFor: "soak" });
    expect(verdictAt(waitingBy(suspecting, late), endMs + 300_000)).toMatchObject({
      cause: "fleet",
    });
  });
});
