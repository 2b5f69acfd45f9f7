import { describe, expect, it } from "vitest";
import { applyResults, emptyOutcome, marksOf, targetsOf } from "#rollout/rules/outcome.ts";
import { buildBatch, imageV1, imageV2 } from "../../support/rollout/rollout-builders.ts";

const batch = buildBatch(["a", "b", "c"]);
const rollout = { kind: "rollout", image: imageV2 } as const;
const rollback = { kind: "rollback", image: imageV2 } as const;

describe("targetsOf", () => {
  it("deploys the new image to all members without a result", () => {
    const outcome = { ...emptyOutcome(batch), marks: "s.f" };

    expect(targetsOf(batch, outcome, rollout)).toEqual([{ index: 1, id: "b", image: imageV2 }]);
  });

  it("rolls back those that took the new image, to their own previous one", () => {
    const outcome = { ...emptyOutcome(batch), marks: "s.f" };

    expect(targetsOf(batch, outcome, rollback)).toEqual([{ index: 0, id: "a", image: imageV1 }]);
  });

  it("tries those again that did not revert, and leaves those that did", () => {
    const outcome = { ...emptyOutcome(batch), marks: "rn." };

    expect(targetsOf(batch, outcome, rollback).map(({ id }) => id)).toEqual(["b"]);
  });

  it("rolls back members without a result when their batch was killed", () => {
    const outcome = { ...emptyOutcome(batch), marks: "s.f", open: true };

    expect(targetsOf(batch, outcome, rollback).map(({ id }) => id)).toEqual(["a", "b"]);
  });

  it("rolls back what was left out only when its batch was killed before: it may have been ordered", () => {
    const outcome = { ...emptyOutcome(batch), marks: "sxf" };
    const idsOf = (of: typeof outcome & { lost?: boolean }) =>
      targetsOf(batch, of, rollback).map(({ id }) => id);

    expect(idsOf(outcome)).toEqual(["a"]);
    expect(idsOf({ ...outcome, open: true })).toEqual(["a"]);
    expect(idsOf({ ...outcome, lost: true })).toEqual(["a", "b"]);
  });
});

describe("applyResults", () => {
  it("marks the outcome of each deploy", () => {
    const results = [
      { index: 0, id: "a", ok: true },
      { index: 2, id: "c", ok: false, reason: "crash_loop" },
    ];

    const { outcome, changes } = applyResults(batch, emptyOutcome(batch), {
      kind: "rollout",
      results,
    });

    expect(outcome.marks).toBe("s.f");
    expect(outcome.reasons).toEqual({ c: "crash_loop" });
    expect(changes.map(({ id, to }) => `${id}${to}`)).toEqual(["as", "cf"]);
  });

  it("keeps the reason of a sentinel whatever its id is called, and gives no other one", () => {
    const odd = buildBatch(["__proto__", "constructor", "toString"]);
    const results = [
      { index: 0, id: "__proto__", ok: false, reason: "crash_loop" },
      { index: 1, id: "constructor", ok: true },
    ];

    const { outcome } = applyResults(odd, emptyOutcome(odd), { kind: "rollout", results });

    const stored = JSON.parse(JSON.stringify(outcome));
    expect(marksOf(odd, stored)).toEqual([
      { id: "__proto__", from: ".", to: "f", reason: "crash_loop" },
      { id: "constructor", from: ".", to: "s" },
    ]);
  });

  it("changes nothing when the same result comes twice", () => {
    const results = [{ index: 0, id: "a", ok: true }];
    const once = applyResults(batch, emptyOutcome(batch), { kind: "rollout", results });

    const twice = applyResults(batch, once.outcome, { kind: "rollout", results });

    expect(twice.changes).toEqual([]);
    expect(twice.outcome).toEqual(once.outcome);
  });

  it("never touches a failed sentinel in a rollback", () => {
    const outcome = { ...emptyOutcome(batch), marks: "ff." };

    const { changes } = applyResults(batch, outcome, {
      kind: "rollback",
      results: [{ index: 0, id: "a", ok: true }],
    });

    expect(changes).toEqual([]);
  });
});
