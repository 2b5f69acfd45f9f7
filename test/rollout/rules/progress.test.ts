import { describe, expect, it } from "vitest";
import { emptyOutcome } from "#rollout/rules/outcome.ts";
import { applyStep, inlineLists, nextStep, passOverFailures } from "#rollout/rules/progress.ts";
import {
  buildBatch,
  buildHead,
  buildWave,
  imageV1,
} from "../../support/rollout/rollout-builders.ts";

describe("nextStep", () => {
  it("starts with the first wave", () => {
    expect(nextStep([buildWave(), buildWave()], undefined)).toEqual({
      action: "run",
      waveIndex: 0,
    });
  });

  it("continues with the next wave after one without failures", () => {
    expect(nextStep([buildWave({ succeeded: 2 }), buildWave()], 0)).toEqual({
      action: "run",
      waveIndex: 1,
    });
  });

  it("pauses after a wave with a failure", () => {
    const waves = [buildWave({ succeeded: 1, failed: 1 }), buildWave()];

    expect(nextStep(waves, 0)).toEqual({ action: "pause", cause: "sentinels" });
  });

  it("recognises failures of the fleet's API by an earlier version's reasons", () => {
    const failedBy = (...reasons: string[]) => {
      const ids = reasons.map((_, i) => `s${i}`);
      const marks = "f".repeat(reasons.length);
      const why = Object.fromEntries(ids.map((id, i) => [id, reasons[i] ?? ""]));
      const step = buildStep(ids, marks, why);
      const { ofFleet: _, ...after } = step.after;
      return applyStep(buildHead(), { ...step, after }).waves;
    };
    const ill = failedBy("unreachable: ECONNREFUSED", "timeout_unknown: unreachable: reset");

    expect(nextStep(ill, 0)).toMatchObject({
      cause: "fleet",
      reason: expect.stringContaining("API is failing"),
    });
    expect(nextStep(failedBy("unauthorized: 401", "crash_loop"), 0)).toMatchObject({
      cause: "sentinels",
    });
    expect(nextStep(failedBy("timeout_unknown"), 0)).toMatchObject({ cause: "sentinels" });
  });

  it("goes by the cause of a failure, not by the text of its reason", () => {
    const step = buildStep(["a", "b"], "ff", { a: "unreachable: its word", b: "oom_killed" });
    const causeOf = (ofFleet: string[]) =>
      nextStep(applyStep(buildHead(), { ...step, after: { ...step.after, ofFleet } }).waves, 0);

    expect(causeOf(["b"])).toMatchObject({ cause: "sentinels" });
    expect(causeOf([])).toMatchObject({ cause: "sentinels" });
    expect(causeOf(["a", "b"])).toMatchObject({ cause: "fleet" });
  });

  it("does not take a failure after a Resume for one of those that were passed over", () => {
    const ill = buildWave({ failed: 1, fleetFailed: 1 });
    const resumed = buildHead({ waves: passOverFailures([ill]) });

    const { waves } = applyStep(resumed, { ...buildStep(["x"], "f", { x: "oom_killed" }), n: 1 });

    expect(nextStep(waves, 0)).toMatchObject({ cause: "sentinels" });
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

  it("continues the same wave after a Resume when some of it has no result", () => {
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

/** The first batch, of these members, from no results to these marks. */
function buildStep(ids: string[], marks: string, reasons: Record<string, string> = {}) {
  const batch = buildBatch(ids);
  const before = emptyOutcome(batch);
  return { n: 0, batch, before, after: { ...before, marks, reasons } };
}

describe("applyStep", () => {
  it("counts results in the rollout and in their wave, and lists them", () => {
    const step = buildStep(["a", "b"], "sf", { b: "oom_killed" });

    const head = applyStep(buildHead(), { ...step, n: 1, batch: { ...step.batch, wave: 1 } });

    expect(head).toMatchObject({ succeeded: 1, failed: 1, succeededIds: ["a"], failedIds: ["b"] });
    expect(head.waves[1]).toMatchObject({ succeeded: 1, failed: 1 });
    expect(head.failedSample).toEqual([{ id: "b", reason: "oom_killed" }]);
  });

  it("no longer lists a sentinel as succeeded once it is reverted", () => {
    const before = buildHead({ succeeded: 2, succeededIds: ["a", "b"], tallies: tallies(2) });

    const head = applyStep(before, buildStep(["a", "b"], "rs"));

    expect(head).toMatchObject({ succeeded: 1, succeededIds: ["b"], reverted: 1 });
  });

  it("keeps a sentinel that did not revert as succeeded, with its reason", () => {
    const before = buildHead({ succeeded: 1, succeededIds: ["a"], tallies: tallies(1) });

    const head = applyStep(before, buildStep(["a", "b"], "n.", { a: "unreachable" }));

    expect(head).toMatchObject({ succeeded: 1, succeededIds: ["a"], reverted: 0 });
    expect(head.notReverted).toEqual([{ id: "a", reason: "unreachable" }]);
  });

  it("keeps at most 100 reasons", () => {
    const ids = Array.from({ length: 150 }, (_, i) => `s${i}`);

    const head = applyStep(buildHead(), buildStep(ids, "f".repeat(150)));

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
