import { describe, expect, it } from "vitest";
import { mayStart } from "#rollout/conditions/decide.ts";
import { type Next, nextOf } from "#rollout/conditions/next.ts";
import { beginWait, sleepMsOf } from "#rollout/conditions/wait.ts";
import { closeGates } from "#rollout/gates/registry.ts";
import { MaxFailed, SoakSeconds } from "#rollout/policy-contract.ts";
import { emptyOutcome } from "#rollout/rules/outcome.ts";
import { applyStep, passOverFailures } from "#rollout/rules/progress.ts";
import type { HeadPolicy, RolloutHead, WaveProgress } from "#rollout/state.ts";
import { buildChecksGate, withReports } from "../../support/rollout/gates.ts";
import { buildBatch, buildHead, buildWave } from "../../support/rollout/rollout-builders.ts";

const nowMs = Date.parse("2026-01-01T00:00:00.000Z");

/** The verdict before what follows these waves, of which this one has ended. */
const verdictOn = (
  waves: WaveProgress[],
  wave: number | undefined,
  over: Partial<RolloutHead> = {},
) => {
  const head = buildHead({ waves, ...over });
  return mayStart({
    head,
    next: nextOf(head),
    wave,
    nowMs,
    windows: { now: { is_open: true } },
    fleet: null,
  });
};

/** As a Resume does after a stop because of these failures. */
const passOver = (waves: WaveProgress[]) => passOverFailures(waves, { wasInterrupted: false });

describe("nextOf", () => {
  it.each<[string, WaveProgress[], Next]>([
    ["the first wave", [buildWave(), buildWave()], { kind: "wave", index: 0 }],
    [
      "the wave after one that has ended",
      [buildWave({ succeeded: 2 }), buildWave()],
      { kind: "wave", index: 1 },
    ],
    ["the end after the last wave", [buildWave({ succeeded: 1, failed: 1 })], { kind: "end" }],
    ["the end when there is no wave", [], { kind: "end" }],
  ])("is %s", (_, waves, next) => {
    expect(nextOf(buildHead({ waves }))).toEqual(next);
  });

  it("is the first wave while nobody knows its members", () => {
    expect(nextOf(buildHead({ captured: false, waves: [] }))).toEqual({ kind: "wave", index: 0 });
  });

  it("is the same wave again when some of it has no result", () => {
    const waves = passOver([buildWave({ size: 3, succeeded: 1, failed: 1 }), buildWave()]);

    expect(nextOf(buildHead({ waves }))).toEqual({ kind: "wave", index: 0 });
    expect(verdictOn(waves, undefined)).toEqual({ action: "start" });
  });
});

describe("a rollout without a policy", () => {
  it("continues after a wave without failures", () => {
    expect(verdictOn([buildWave({ succeeded: 2 }), buildWave()], 0)).toEqual({ action: "start" });
  });

  it("stops after a wave with a failure, and not before the wave has ended", () => {
    const waves = [buildWave({ size: 3, succeeded: 1, failed: 1 }), buildWave()];
    const whole = [buildWave({ succeeded: 1, failed: 1 }), buildWave()];
    const head = buildHead({ waves });

    expect(
      mayStart({
        head,
        next: { kind: "deploy" },
        wave: 0,
        nowMs,
        windows: { now: { is_open: true } },
        fleet: null,
      }),
    ).toEqual({
      action: "start",
    });
    expect(verdictOn(whole, 0)).toMatchObject({ action: "stop", cause: "sentinels" });
  });

  it("does not stop again for failures that a Resume has passed over", () => {
    const waves = passOver([buildWave({ succeeded: 1, failed: 1 }), buildWave()]);

    expect(verdictOn(waves, 0)).toEqual({ action: "start" });
  });

  it("stops for failures that nobody had judged when it was interrupted", () => {
    const waves = [buildWave({ succeeded: 1, failed: 1 }), buildWave()];

    expect(verdictOn(passOverFailures(waves, { wasInterrupted: true }), 0)).toMatchObject({
      action: "stop",
      cause: "sentinels",
    });
  });

  it("stops for failures that failed again, after some that were passed over before", () => {
    const retried = [buildWave({ size: 3, succeeded: 1, passedOver: 2 }), buildWave()];
    const [first = buildWave()] = passOverFailures(retried, { wasInterrupted: true });

    expect(verdictOn([{ ...first, failed: 2 }], 0)).toMatchObject({ cause: "sentinels" });
  });

  it("stops after a wave that ended with deploys that have no result", () => {
    expect(verdictOn([buildWave({ size: 3, succeeded: 1 })], 0)).toMatchObject({
      action: "stop",
      cause: "run",
      reason: expect.stringContaining("2 deploys"),
      isOfImage: false,
    });
  });
});

describe("a wave whose failures", () => {
  it("the fleet's API caused stops for the fleet by the cause of each, not by the text of its reason", () => {
    const step = buildStep(["a", "b"], "ff", { a: "unreachable: its word", b: "oom_killed" });
    const verdictOf = (ofFleet: string[]) =>
      verdictOn(applyStep(buildHead(), { ...step, after: { ...step.after, ofFleet } }).waves, 0);

    expect(verdictOf(["b"])).toMatchObject({ cause: "sentinels" });
    expect(verdictOf([])).toMatchObject({ cause: "sentinels" });
    expect(verdictOf(["a", "b"])).toMatchObject({
      cause: "fleet",
      reason: expect.stringContaining("API is failing"),
      isOfImage: false,
    });
  });

  it("came after a Resume is not taken for one of those that were passed over", () => {
    const ill = buildWave({ failed: 1, fleetFailed: 1 });
    const resumed = buildHead({ waves: passOver([ill]) });

    const { waves } = applyStep(resumed, { ...buildStep(["x"], "f", { x: "oom_killed" }), n: 1 });

    expect(verdictOn(waves, 0)).toMatchObject({ cause: "sentinels" });
  });
});

describe("a failure budget", () => {
  const afterFailures = (failed: number, max_failed: HeadPolicy["max_failed"], passedOver = 0) => {
    const waves = [
      buildWave({ size: 50, failed: 1, passedOver: 1, succeeded: 49 }),
      buildWave({ size: 150, failed, passedOver }),
    ];
    const head = buildHead({ waves, total: 200, policy: max_failed ? { max_failed } : {} });
    return mayStart({
      head,
      next: { kind: "deploy" },
      wave: 1,
      nowMs,
      windows: { now: { is_open: true } },
      fleet: null,
    });
  };

  it.each<[HeadPolicy["max_failed"], number]>([
    [{ per_wave: 0 }, 0],
    [{ per_wave: 3 }, 3],
    [{ per_wave: "2%" }, 3],
    [{ in_all: "2%" }, 4],
    [{ per_wave: 9, in_all: 2 }, 2],
    [{ per_wave: 2, in_all: "50%" }, 2],
  ])("of %j allows %i failures, and stops at the next one", (budget, allowed) => {
    expect(afterFailures(allowed, budget)).toEqual({ action: "start" });
    expect(afterFailures(allowed + 1, budget)).toMatchObject({
      action: "stop",
      cause: "budget",
      isOfImage: true,
    });
  });

  it("says which limit was passed, and by how many", () => {
    expect(afterFailures(4, { per_wave: "2%" })).toMatchObject({
      reason: "4 failed, 3 are allowed (2% of 150, max_failed.per_wave)",
    });
  });

  it("begins anew with a Resume", () => {
    expect(afterFailures(4, { per_wave: 3 }, 1)).toEqual({ action: "start" });
  });

  it("lets a wave with fewer failures be followed by the next", () => {
    const waves = [buildWave({ succeeded: 1, failed: 1 }), buildWave()];

    expect(verdictOn(waves, 0, { policy: { max_failed: { per_wave: 1 } } })).toEqual({
      action: "start",
    });
  });

  it.each([
    {},
    { per_wave: -1 },
    { per_wave: 1.5 },
    { in_all: "101%" },
    { in_all: "2 %" },
    { in_all: "02%" },
  ])("is refused as %j", (value) => {
    expect(MaxFailed.safeParse(value).success).toBe(false);
  });
});

describe("a soak", () => {
  const soaking = (policy: HeadPolicy, over: Partial<RolloutHead> = {}) => {
    const waves = [buildWave({ succeeded: 2 }), buildWave({ percentage: 100 })];
    const head = buildHead({ waves, policy, ...over });
    return beginWait(head, { ended: 0, next: nextOf(head), nowMs });
  };
  /** The head after a look at the fleet at this second. */
  const seen = (head: RolloutHead, seconds: number) => {
    const lookedAt = new Date(nowMs + seconds * 1_000).toISOString();
    return { ...head, wait: { ...head.wait, lookedAt } } as RolloutHead;
  };
  const at = (head: RolloutHead, seconds: number) =>
    mayStart({
      head,
      next: nextOf(head),
      wave: 0,
      nowMs: nowMs + seconds * 1_000,
      windows: { now: { is_open: true } },
      fleet: null,
    });

  it("ends at its very end, and not a millisecond before", () => {
    const head = soaking({ soak_seconds: 600 });

    expect(at(head, 599.999)).toMatchObject({
      action: "wait",
      waitingFor: "soak",
      untilMs: nowMs + 600_000,
    });
    expect(at(seen(head, 600), 600)).toEqual({ action: "start" });
  });

  it("of the last wave keeps the rollout from completing", () => {
    const head = soaking({ soak_seconds: 60 }, { waves: [buildWave({ succeeded: 2 })] });

    expect(at(head, 1)).toMatchObject({ waitingFor: "soak" });
    expect(at(seen(head, 60), 60)).toEqual({ action: "start" });
  });

  it.each([
    [[300, 0], 50, true],
    [[0, 300], 50, false],
    [[0, 300], 100, true],
  ])("of %j is that of its wave, by percentage: %i", (soak_seconds, percentage, soaks) => {
    const waves = [buildWave({ succeeded: 2, percentage }), buildWave({ percentage: 100 })];

    expect(soaking({ soak_seconds }, { waves }).wait?.soakUntil !== undefined).toBe(soaks);
  });

  it("stops for a sentinel that fails meanwhile", () => {
    const head = soaking({ soak_seconds: 60 });
    const waves = [buildWave({ succeeded: 1, failed: 1 }), buildWave()];

    expect(at({ ...head, waves }, 1)).toMatchObject({ action: "stop", cause: "sentinels" });
  });

  it("stops for a failed run of the gate's checks, also after the last wave", () => {
    const gate = buildChecksGate({ checks: ["verify-key"], timeout_seconds: 10 });
    const waves = [buildWave({ succeeded: 2 })];
    const head = soaking({ soak_seconds: 60 }, { waves, gates: [gate] });
    const failedRun = { at: "", location: "fra", reason: "gone", status: null, duration_ms: 1 };
    const reports = [{ check: "verify-key", cleanRuns: 0, failedRun }];
    const failed = withReports(closeGates([gate], 1, nowMs), gate, { reports });

    expect(at(head, 30)).toMatchObject({ action: "wait", waitingFor: "soak" });
    expect(at({ ...head, gateStatus: failed }, 30)).toMatchObject({
      action: "stop",
      cause: "gate",
    });
  });

  it("is shown before the gate, whose clean runs count from the end of the wave", () => {
    const gate = buildChecksGate({ checks: ["verify-key"] });

    const head = soaking({ soak_seconds: 60 }, { gates: [gate] });

    expect(at(head, 1)).toMatchObject({ waitingFor: "soak" });
    expect(at(seen(head, 60), 61)).toMatchObject({ waitingFor: "gate" });
  });

  it("is slept to its end, with looks at the sentinels in between", () => {
    const sleepAt = (soak_seconds: number, seconds: number) => {
      const head = soaking({ soak_seconds });
      const verdict = at(head, seconds);
      return verdict.action === "wait" && sleepMsOf(head, verdict, nowMs + seconds * 1_000);
    };

    expect([sleepAt(600, 0), sleepAt(600, 598), sleepAt(604_800, 0)]).toEqual([
      5_000, 2_000, 2_016_000,
    ]);
  });

  it.each([-1, 604_801, 1.5, [], "600"])("is refused as %j", (value) => {
    expect(SoakSeconds.safeParse(value).success).toBe(false);
  });
});

/** The first batch, of these members, from no results to these marks. */
function buildStep(ids: string[], marks: string, reasons: Record<string, string> = {}) {
  const batch = buildBatch(ids);
  const before = emptyOutcome(batch);
  return { n: 0, batch, before, after: { ...before, marks, reasons } };
}
