import { expect, it } from "vitest";
import { findByHand, findChanged, holdOf, recordHolds } from "#rollout/desired/by-hand.ts";
import type { HeldDrift } from "#rollout/desired/converge.ts";
import { imageV1, imageV2 } from "../../support/rollout/rollout-builders.ts";

const debug = imageV1.replace("v1", "debug");

function aDrift(changes: Partial<HeldDrift> = {}): HeldDrift {
  const drift = { id: "s01", desired: imageV2, running: debug, why: "drifted" } as const;
  return { ...drift, sinceMs: 0, isConfirmed: true, isHeld: false, ...changes };
}

it("a confirmed sentinel with another image than the desired one was changed", () => {
  expect(findChanged([aDrift()], {})).toHaveLength(1);
});

it.each<Partial<HeldDrift>>([
  { running: "" },
  { isConfirmed: false },
  { isHeld: true },
  { isUnderWay: true },
  { why: "joined" },
  { why: "late" },
  { why: "failed" },
])("one with %j was not, or is held already", (changes) => {
  expect(findChanged([aDrift(changes)], {})).toEqual([]);
});

it("one that was held for this image is not held again, and for another one it is", () => {
  expect(findChanged([aDrift()], { s01: debug })).toEqual([]);
  expect(findChanged([aDrift()], { s01: imageV1 })).toHaveLength(1);
});

it("an image that a rollout has brought or replaced was put back, also under another part of its name", () => {
  expect(findByHand([aDrift()], [imageV1, imageV2, ""])).toHaveLength(1);
  expect(findByHand([aDrift({ running: imageV1 })], [imageV1])).toEqual([]);
  const pinned = `${imageV1}@sha256:${"a".repeat(64)}`;
  expect(findByHand([aDrift({ running: imageV1 })], [pinned])).toEqual([]);
});

it("a hold names a hundred sentinels of one image at most, and the reason", () => {
  const many = Array.from({ length: 150 }, (_, i) => aDrift({ id: `s${i}` }));

  const hold = holdOf([...many, aDrift({ id: "x", running: imageV1 })], "singleton");

  expect(hold?.ids).toHaveLength(100);
  expect(hold?.reason).toContain(debug);
  expect(holdOf([], "singleton")).toBeUndefined();
});

it("a check that is done again makes the same hold, and a later change another one", () => {
  const hold = holdOf([aDrift()], "singleton");

  expect(holdOf([aDrift()], "singleton")).toEqual(hold);
  expect(holdOf([aDrift({ sinceMs: 1 })], "singleton")?.id).not.toBe(hold?.id);
});

it("it is known who was held for which image, until the sentinel runs another one", () => {
  const drifts = [aDrift(), aDrift({ id: "s02" }), aDrift({ id: "s03" })];
  const before = { s02: debug, s03: imageV1, s04: debug };
  const hold = { id: "hold-1", ids: ["s01"], reason: "by hand" };

  const { heldOnce } = recordHolds(before, { drifts, holds: [hold] });

  expect(heldOnce).toEqual({ s01: debug, s02: debug });
});

it("a hold is announced until it is known who was held, also one of a check that was killed", () => {
  const drifts = [aDrift({ isHeld: true })];
  const holds = [{ id: "hold-1", ids: ["s01"], reason: "by hand" }];

  const first = recordHolds({}, { drifts, holds });

  expect(first.untold).toEqual(holds);
  expect(recordHolds(first.heldOnce, { drifts, holds }).untold).toEqual([]);
  expect(recordHolds({}, { drifts: [], holds }).untold).toEqual([]);
});

it.each(["constructor", "__proto__"])("a hold of a sentinel called %s is announced once", (id) => {
  const drifts = [aDrift({ id })];
  const hold = holdOf(drifts, "singleton") ?? expect.fail("there is no hold");

  const first = recordHolds({}, { drifts, holds: [hold] });
  const stored = JSON.parse(JSON.stringify(first.heldOnce));

  expect(first.untold).toEqual([hold]);
  expect(recordHolds(stored, { drifts, holds: [hold] }).untold).toEqual([]);
  expect(findChanged(drifts, stored)).toEqual([]);
});
