import { describe, expect, it } from "vitest";
import {
  evaluateAvailability,
  freeSlots,
  withEndedDeploys,
} from "#rollout/conditions/availability.ts";
import type { Facts } from "#rollout/conditions/condition.ts";
import type { RolloutHead } from "#rollout/state.ts";
import { buildHead } from "../../support/rollout/rollout-builders.ts";

const head = (more: Partial<RolloutHead> = {}) =>
  buildHead({ policy: { max_unavailable: 2 }, captured: true, fleetSize: 10, ...more });

const judge = (facts: Partial<Facts>) =>
  evaluateAvailability({
    head: head(),
    next: { kind: "wave", index: 0 },
    wave: undefined,
    nowMs: 0,
    windows: "unread",
    fleet: { unhealthy: 0, ofNext: 0 },
    ...facts,
  });

describe("freeSlots", () => {
  it.each([
    [2, 2],
    ["25%", 2],
    ["9%", 1],
    [0, 1],
  ])("of a fleet of ten with max_unavailable %j are %i", (limit, slots) => {
    expect(freeSlots(head({ policy: { max_unavailable: limit } }))).toBe(slots);
  });

  it("are fewer by those that are unavailable, and may be negative", () => {
    expect(freeSlots(head({ unavailable: { ids: ["s1"], more: 0 } }))).toBe(1);
    expect(freeSlots(head({ unavailable: { ids: ["s1"], more: 4 } }))).toBe(-3);
  });

  it("are without a limit without max_unavailable", () => {
    expect(freeSlots(buildHead())).toBeUndefined();
  });
});

describe("withEndedDeploys", () => {
  it("adds those that failed, once, and removes those that succeeded", () => {
    const results = [
      { id: "s1", ok: true },
      { id: "s2", ok: false },
      { id: "s3", ok: false },
      { id: "s4", ok: false, leftOut: true as const },
    ];

    expect(withEndedDeploys({ ids: ["s1", "s2"], more: 3 }, results)).toEqual({
      ids: ["s2", "s3"],
      more: 3,
    });
  });
});

describe("evaluateAvailability", () => {
  it("lets a wave start while fewer are unhealthy than may be", () => {
    expect(judge({ fleet: { unhealthy: 1, ofNext: 0 } })).toEqual({ action: "start" });
  });

  it("stops before a wave with as many as may be, which says nothing about the image", () => {
    expect(judge({ fleet: { unhealthy: 2, ofNext: 0 } })).toEqual({
      action: "stop",
      cause: "fleet",
      reason: "2 unhealthy, 2 are allowed (max_unavailable)",
      isOfImage: false,
    });
  });

  it("lets the unhealthy ones themselves be deployed", () => {
    expect(judge({ fleet: { unhealthy: 5, ofNext: 1 } })).toEqual({ action: "start" });
  });

  it("looks again when what was read is too old, and stops when nothing could be read", () => {
    expect(judge({ fleet: "stale" })).toEqual({ action: "look" });
    expect(judge({ fleet: null })).toMatchObject({ action: "stop", cause: "fleet" });
  });

  it.each([
    ["budget", 1, true],
    ["fleet", 0, false],
  ])("stops within a wave that is blocked, with the cause %s", (cause, failed, isOfImage) => {
    const wave = {
      percentage: 100,
      size: 5,
      firstBatch: 0,
      batches: 1,
      succeeded: 0,
      passedOver: 0,
    };
    const blocked = head({
      unavailable: { ids: ["s1", "s2"], more: 0, isFull: true },
      waves: [{ ...wave, failed }],
      currentWave: 1,
    });

    expect(judge({ head: blocked, next: { kind: "deploy" } })).toMatchObject({
      action: "stop",
      cause,
      isOfImage,
    });
  });

  it.each([
    { head: buildHead() },
    { head: head({ captured: false }) },
    { next: { kind: "end" } as const },
    { next: { kind: "deploy" } as const },
  ])("has no say otherwise (%#)", (facts) => {
    expect(judge({ fleet: null, ...facts })).toEqual({ action: "start" });
  });
});
