import { describe, expect, it } from "vitest";
import { emptyOutcome, withoutFailures } from "#rollout/rules/outcome.ts";
import { applyRetry, applyStep, inlineLists } from "#rollout/rules/progress.ts";
import { buildBatch, buildHead, imageV1 } from "../../support/rollout/rollout-builders.ts";

/** Of a head whose first batch has counted for so many successes. */
const tallies = (s: number) => ({ 0: { s, f: 0, r: 0, n: 0, x: 0, ofFleet: 0 } });

/** The first batch, of these members, from no results to these marks. */
function buildStep(ids: string[], marks: string, reasons: Record<string, string> = {}) {
  const batch = buildBatch(ids);
  return { n: 0, batch, after: { ...emptyOutcome(batch), marks, reasons } };
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

describe("applyRetry", () => {
  it("takes failures out of the counts and lists, and leaves the others there", () => {
    const batch = buildBatch(["a", "b", "c"]);
    const marked = { ...emptyOutcome(batch), marks: "sff", reasons: { b: "oom_killed", c: "x" } };
    const failed = applyStep(buildHead(), {
      n: 0,
      batch,
      after: marked,
    });
    const other = { id: "z", reason: "of another wave" };

    const { outcome, changes } = withoutFailures(batch, marked);
    const step = { n: 0, batch, after: outcome };
    const head = applyRetry({ ...failed, failedSample: [...failed.failedSample, other] }, step);

    expect(outcome).toMatchObject({ marks: "s..", reasons: {}, tries: { 1: 1, 2: 1 } });
    expect(changes.map(({ id, to }) => [id, to])).toEqual([
      ["b", "."],
      ["c", "."],
    ]);
    expect(head).toMatchObject({ succeeded: 1, failed: 0, succeededIds: ["a"], failedIds: [] });
    expect(head.failedSample).toEqual([other]);
    expect(head.waves[0]).toMatchObject({ succeeded: 1, failed: 0 });
  });
});
