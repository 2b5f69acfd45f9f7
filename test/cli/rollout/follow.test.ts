import { describe, expect, it } from "vitest";
import { type Begin, exitCodeOf, hasBegun } from "#cli/rollout/follow.ts";
import { buildStatus, fakeImage } from "../../support/program/fake-control.ts";

const begin: Begin = { handler: "Rollout", body: { image: fakeImage } };
const before = buildStatus({ rollout_id: "r-1", state: "completed" });

describe("hasBegun", () => {
  it("recognises a new rollout of the requested image as its own", () => {
    expect(hasBegun(begin, before, buildStatus())).toBe(true);
  });

  it("recognises the image when it was pinned to its digest", () => {
    const now = buildStatus({ image: `${fakeImage}@sha256:${"0".repeat(64)}` });

    expect(hasBegun(begin, before, now)).toBe(true);
  });

  it.each([
    ["what was there before", before],
    ["someone else's rollout", buildStatus({ image: "registry.example.com/other:v1" })],
    ["a tag that only begins alike", buildStatus({ image: `${fakeImage}-slow` })],
  ])("is not taken in by %s", (_, now) => {
    expect(hasBegun(begin, before, now)).toBe(false);
  });

  it("is true for a Resume once the rollout is not paused any more", () => {
    const resume: Begin = { handler: "Resume", body: {} };
    const paused = buildStatus({ state: "paused" });

    expect(hasBegun(resume, paused, paused)).toBe(false);
    expect(hasBegun(resume, paused, buildStatus())).toBe(true);
    expect(hasBegun(resume, buildStatus(), buildStatus())).toBe(false);
  });

  it("is true for a rollback once the rollout rolls back", () => {
    const rollback: Begin = { handler: "RollbackAll", body: {} };
    const paused = buildStatus({ state: "paused" });

    expect(hasBegun(rollback, paused, paused)).toBe(false);
    expect(hasBegun(rollback, paused, buildStatus({ state: "rolling_back" }))).toBe(true);
  });
});

describe("exitCodeOf", () => {
  it.each([
    ["idle", 0],
    ["completed", 0],
    ["paused", 2],
    ["cancelled", 3],
    ["in_progress", 1],
    ["rolling_back", 1],
  ] as const)("of %s is %i", (state, code) => {
    expect(exitCodeOf(buildStatus({ state }))).toBe(code);
  });
});
