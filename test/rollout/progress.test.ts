import { describe, expect, it } from "vitest";
import { applyChanges, inlineLists, nextStep, passOverFailures } from "#rollout/progress.ts";
import { buildBatch, buildHead, buildWave, imageV1 } from "../support/rollout-builders.ts";

describe("nextStep", () => {
  it("starts with the first wave", () => {
    expect(nextStep([buildWave(), buildWave()], undefined)).toEqual({
      action: "run",
      waveIndex: 0,
    });
  });

  it("goes on to the next wave after one without failures", () => {
    expect(nextStep([buildWave({ succeeded: 2 }), buildWave()], 0)).toEqual({
      action: "run",
      waveIndex: 1,
    });
  });

  it("pauses after a wave with a failure", () => {
    const waves = [buildWave({ succeeded: 1, failed: 1 }), buildWave()];

    expect(nextStep(waves, 0)).toEqual({ action: "pause", cause: "sentinels" });
  });

  it("tells a fleet that cannot be asked apart from an image that does not work", () => {
    const failedBy = (...reasons: string[]) =>
      applyChanges(
        buildHead(),
        { batch: 0, wave: 0, ...marks(".".repeat(reasons.length), "f".repeat(reasons.length)) },
        reasons.map((reason, i) => ({ id: `s${i}`, from: ".", to: "f", reason })),
      ).waves;
    const ill = failedBy("unreachable: ECONNREFUSED", "timeout_unknown: unreachable: reset");

    expect(nextStep(ill, 0)).toMatchObject({
      cause: "fleet",
      reason: expect.stringContaining("API is ill"),
    });
    expect(nextStep(failedBy("unauthorized: 401", "crash_loop"), 0)).toMatchObject({
      cause: "sentinels",
    });
    expect(nextStep(failedBy("timeout_unknown"), 0)).toMatchObject({ cause: "sentinels" });
    const resumed = passOverFailures(ill);
    const [first] = applyChanges(
      buildHead({ waves: resumed }),
      { batch: 1, wave: 0, ...marks(".", "f") },
      [{ id: "x", from: ".", to: "f", reason: "oom_killed" }],
    ).waves;
    expect(nextStep(first === undefined ? [] : [first], 0)).toMatchObject({ cause: "sentinels" });
  });

  it("completes after the last wave", () => {
    expect(nextStep([buildWave({ succeeded: 2 })], 0)).toEqual({ action: "complete" });
  });

  it("completes at once when there is no wave", () => {
    expect(nextStep([], undefined)).toEqual({ action: "complete" });
  });

  it("does not pause again for failures that a Resume has passed over", () => {
    const waves = passOverFailures([buildWave({ succeeded: 1, failed: 1 }), buildWave()]);

    expect(nextStep(waves, undefined)).toEqual({ action: "run", waveIndex: 1 });
  });

  it("takes up the same wave after a Resume when some of it has no result", () => {
    const waves = passOverFailures([buildWave({ size: 3, succeeded: 1, failed: 1 }), buildWave()]);

    expect(nextStep(waves, undefined)).toEqual({ action: "run", waveIndex: 0 });
  });

  it("pauses with a reason when a wave ended with deploys that have no result", () => {
    const step = nextStep([buildWave({ size: 3, succeeded: 1 })], 0);

    expect(step).toMatchObject({ action: "pause", reason: expect.stringContaining("2 deploys") });
  });
});

/** Of a head whose first batch has counted for so many successes. */
const tallies = (s: number) => ({ 0: { s, f: 0, r: 0, n: 0 } });

const marks = (before: string, after: string) => ({
  before: { marks: before },
  after: { marks: after },
});

describe("applyChanges", () => {
  it("counts results in the rollout and in their wave, and lists them", () => {
    const head = applyChanges(buildHead(), { batch: 1, wave: 1, ...marks("..", "sf") }, [
      { id: "a", from: ".", to: "s" },
      { id: "b", from: ".", to: "f", reason: "oom_killed" },
    ]);

    expect(head).toMatchObject({ succeeded: 1, failed: 1, succeededIds: ["a"], failedIds: ["b"] });
    expect(head.waves[1]).toMatchObject({ succeeded: 1, failed: 1 });
    expect(head.failedSample).toEqual([{ id: "b", reason: "oom_killed" }]);
  });

  it("no longer lists a sentinel as succeeded once it is reverted", () => {
    const before = buildHead({ succeeded: 2, succeededIds: ["a", "b"], tallies: tallies(2) });

    const head = applyChanges(before, { batch: 0, wave: 0, ...marks("ss", "rs") }, [
      { id: "a", from: "s", to: "r" },
    ]);

    expect(head).toMatchObject({ succeeded: 1, succeededIds: ["b"], reverted: 1 });
  });

  it("keeps a sentinel that did not revert as succeeded, with its reason", () => {
    const before = buildHead({ succeeded: 1, succeededIds: ["a"], tallies: tallies(1) });

    const head = applyChanges(before, { batch: 0, wave: 0, ...marks("s.", "n.") }, [
      { id: "a", from: "s", to: "n", reason: "unreachable" },
    ]);

    expect(head).toMatchObject({ succeeded: 1, succeededIds: ["a"], reverted: 0 });
    expect(head.notReverted).toEqual([{ id: "a", reason: "unreachable" }]);
  });

  it("keeps at most 100 reasons", () => {
    const changes = Array.from({ length: 150 }, (_, i) => ({ id: `s${i}`, from: ".", to: "f" }));

    const head = applyChanges(
      buildHead(),
      { batch: 0, wave: 0, ...marks(".".repeat(150), "f".repeat(150)) },
      changes,
    );

    expect(head.failed).toBe(150);
    expect(head.failedSample).toHaveLength(100);
  });
});

describe("inlineLists", () => {
  it("gives a small fleet's previous images by id", () => {
    expect(inlineLists(2, [buildBatch(["a", "b"])]).previousImages).toEqual({
      a: imageV1,
      b: imageV1,
    });
  });

  it("gives nothing for a fleet of more than 1,000", () => {
    expect(inlineLists(1_001, [])).toEqual({});
  });
});
