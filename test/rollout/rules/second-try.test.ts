import { describe, expect, it } from "vitest";
import {
  applyResults,
  emptyOutcome,
  targetsOf,
  withFailures,
  withoutFailures,
} from "#rollout/rules/outcome.ts";
import { buildBatch, imageV2 } from "../../support/rollout/rollout-builders.ts";

const batch = buildBatch(["a", "b", "c"]);
const rollback = { kind: "rollback", image: imageV2 } as const;
const idsOf = (targets: { id: string }[]) => targets.map(({ id }) => id);

describe("a success that fails in its soak", () => {
  const updated = { ...emptyOutcome(batch), marks: "ss." };
  const { outcome, changes } = withFailures(batch, updated, [{ id: "b", reason: "unhealthy" }]);

  it("is a failure from then on, with the reason", () => {
    expect(outcome).toMatchObject({ marks: "sf.", reasons: { b: "unhealthy" } });
    expect(changes).toEqual([{ id: "b", from: "s", to: "f", reason: "unhealthy" }]);
  });

  it("is rolled back all the same, because it has the new image", () => {
    const { outcome: after } = applyResults(batch, outcome, {
      kind: "rollback",
      results: [{ index: 1, id: "b", ok: true }],
    });

    expect(idsOf(targetsOf(batch, outcome, rollback))).toEqual(["a", "b"]);
    expect(after.marks).toBe("sr.");
    expect(idsOf(targetsOf(batch, after, rollback))).toEqual(["a"]);
  });

  it("is rolled back also when it was to be tried again and was not", () => {
    const { outcome: again } = withoutFailures(batch, outcome);

    expect(again.marks).toBe("s..");
    expect(idsOf(targetsOf(batch, again, rollback))).toEqual(["a", "b"]);
  });

  it("counts as caused by the fleet if that is what it is", () => {
    const gone = [{ id: "b", reason: "target_gone", ofFleet: true as const }];

    const first = withFailures(batch, updated, gone).outcome;

    expect(first.ofFleet).toEqual(["b"]);
    expect(withFailures(batch, first, [{ id: "b", reason: "crash" }]).outcome.ofFleet).toEqual([]);
  });

  it("is told again when it is noted a second time", () => {
    const second = withFailures(batch, outcome, [{ id: "b", reason: "unhealthy" }]);

    expect(second.outcome).toEqual(outcome);
    expect(second.changes).toHaveLength(1);
  });
});

describe("a failure that is to be tried again", () => {
  const failed = { ...emptyOutcome(batch), marks: "sff", ofFleet: ["c"] };
  const { outcome, changes } = withoutFailures(batch, failed);

  it("has no result any more", () => {
    expect(outcome).toMatchObject({ marks: "s..", ofFleet: [] });
    expect(changes.map(({ id, to }) => [id, to])).toEqual([
      ["b", "."],
      ["c", "."],
    ]);
  });

  it("is another deploy, unlike a success and a member without a result", () => {
    const rollout = { kind: "rollout", image: imageV2 } as const;
    const again = withoutFailures(batch, { ...outcome, marks: "..f" }).outcome;

    expect(targetsOf(batch, again, rollout).map(({ tries = 0 }) => tries)).toEqual([0, 1, 2]);
  });

  it("counts as failed for a rollback that includes failed ones", () => {
    expect(idsOf(targetsOf(batch, outcome, rollback))).toEqual(["a"]);
    expect(idsOf(targetsOf(batch, outcome, { ...rollback, includeFailed: true }))).toEqual([
      "a",
      "b",
      "c",
    ]);
  });
});

it("a rollback that failed is another deploy the next time, one without a result the same", () => {
  const updated = { ...emptyOutcome(batch), marks: "sss" };

  const { outcome } = applyResults(batch, updated, {
    kind: "rollback",
    results: [{ index: 1, id: "b", ok: false, reason: "crash_loop" }],
  });

  expect(targetsOf(batch, outcome, rollback).map(({ tries = 0 }) => tries)).toEqual([0, 1, 0]);
});
