import { describe, expect, it } from "vitest";
import { exitCodeOf, hasStarted, type StartCall } from "#cli/rollout/follow.ts";
import { buildStatus, fakeImage } from "../../support/program/fake-control.ts";

const begin: StartCall = { handler: "Rollout", body: { image: fakeImage } };
const before = buildStatus({ rollout_id: "r-1", state: "completed" });

describe("hasStarted", () => {
  it("recognises a new rollout of the requested image as its own", () => {
    expect(hasStarted(begin, before, buildStatus())).toBe(true);
  });

  it("recognises the image when it was pinned to its digest", () => {
    const now = buildStatus({ image: `${fakeImage}@sha256:${"0".repeat(64)}` });

    expect(hasStarted(begin, before, now)).toBe(true);
  });

  it.each([
    ["what was there before", before],
    ["someone else's rollout", buildStatus({ image: "registry.example.com/other:v1" })],
    ["a tag that only begins alike", buildStatus({ image: `${fakeImage}-slow` })],
  ])("is not taken in by %s", (_, now) => {
    expect(hasStarted(begin, before, now)).toBe(false);
  });

  it("is true for a Resume once the rollout is not paused any more", () => {
    const resume: StartCall = { handler: "Resume", body: {} };
    const paused = buildStatus({ state: "paused" });

    expect(hasStarted(resume, paused, paused)).toBe(false);
    expect(hasStarted(resume, paused, buildStatus())).toBe(true);
    expect(hasStarted(resume, buildStatus(), buildStatus())).toBe(false);
  });

  it("is true for a rollback once the rollout rolls back", () => {
    const rollback: StartCall = { handler: "RollbackAll", body: {} };
    const paused = buildStatus({ state: "paused" });

    expect(hasStarted(rollback, paused, paused)).toBe(false);
    expect(hasStarted(rollback, paused, buildStatus({ state: "rolling_back" }))).toBe(true);
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
