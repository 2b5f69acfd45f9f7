import { describe, expect, it } from "vitest";
import { recount } from "#rollout/rules/progress.ts";
import { buildBatch, buildHead, buildWave } from "../../support/rollout/rollout-builders.ts";

const batch = buildBatch(["a", "b", "c", "d", "e"]);

const step = (marks: string, ofFleet: string[] = []) => ({
  n: 0,
  batch,
  after: { marks, reasons: {}, ofFleet },
});

describe("recount", () => {
  it("counts each outcome of a batch, in the rollout and in its wave", () => {
    const counts = recount(buildHead(), step("sffnx", ["b"]));

    expect(counts).toMatchObject({ succeeded: 2, failed: 2, leftOut: 1, reverted: 0 });
    expect(counts.waves).toMatchObject([
      { succeeded: 2, failed: 2, leftOut: 1, fleetFailed: 1 },
      { succeeded: 0, failed: 0 },
    ]);
  });

  it("blames the fleet's API for failures alone, whoever it has listed", () => {
    const counts = recount(buildHead(), step("sf...", ["a", "b"]));

    expect(counts.waves[0]?.fleetFailed).toBe(1);
  });

  it("subtracts what the batch had contributed before", () => {
    const head = buildHead();
    const before = { ...head, ...recount(head, step("ssffx", ["c", "d"])) };

    const counts = recount(before, step("sfs..", ["b"]));

    expect(counts).toMatchObject({ succeeded: 2, failed: 1, leftOut: 0 });
    expect(counts.waves[0]).toMatchObject({
      succeeded: 2,
      failed: 1,
      leftOut: 0,
      fleetFailed: 1,
    });
  });

  it("counts a step that is repeated once", () => {
    const head = buildHead();
    const once = { ...head, ...recount(head, step("sfxr.", ["b"])) };

    expect(recount(once, step("sfxr.", ["b"]))).toEqual(recount(head, step("sfxr.", ["b"])));
  });

  it("adds to the counts of other batches", () => {
    const head = buildHead({
      succeeded: 3,
      failed: 2,
      leftOut: 4,
      waves: [buildWave({ succeeded: 3, failed: 2, leftOut: 4, fleetFailed: 2 })],
    });

    const counts = recount(head, step("sfx..", ["b"]));

    expect(counts).toMatchObject({ succeeded: 4, failed: 3, leftOut: 5 });
    expect(counts.waves).toMatchObject([{ succeeded: 4, failed: 3, leftOut: 5, fleetFailed: 3 }]);
  });

  it("tells what the last rollback has reverted from what those before it had", () => {
    const counts = recount(buildHead({ reverted: 3, revertedBefore: 3 }), step("rr..."));

    expect(counts).toMatchObject({ reverted: 5, revertedByLastRollback: 2, succeeded: 0 });
    expect(counts.waves[0]?.succeeded).toBe(2);
  });
});
