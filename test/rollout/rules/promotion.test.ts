import { describe, expect, it } from "vitest";
import type { RolloutStatus } from "#rollout/contract.ts";
import { refuseCircle } from "#rollout/promotions/store.ts";
import { findHindrance, notPromoted } from "#rollout/rules/start.ts";

const digest = (letter: string) => `@sha256:${letter.repeat(64)}`;
const image = `registry.example.com/team/app:v2${digest("a")}`;

const hindrance = (
  state: RolloutStatus["state"],
  newest: string | null,
  hasCompleted = false,
): string | undefined => {
  const status = { state, image: newest, total: 4 };
  return findHindrance(image, { fleet: "staging", status, hasCompleted });
};

describe("an image goes on to the next fleet", () => {
  it("when the newest rollout before it has completed it, in history or not yet", () => {
    expect(hindrance("completed", image)).toBeUndefined();
    expect(hindrance("completed", `staging.example.com/app:v2${digest("a")}`)).toBeUndefined();
  });

  it("when an earlier rollout has, whatever is done there since", () => {
    expect(hindrance("in_progress", "registry.example.com/team/app:v3", true)).toBeUndefined();
  });

  it.each([
    ["idle", null, "staging has not completed it"],
    ["completed", `registry.example.com/team/app:v2${digest("b")}`, "staging has not completed it"],
    ["in_progress", image, "its rollout to staging is in progress"],
    ["paused", image, "its rollout to staging is paused"],
    ["cancelled", image, "its rollout to staging is cancelled"],
    ["rolling_back", image, "its rollout to staging is rolling back"],
  ] as const)("not while that is %s with %s", (state, newest, words) => {
    expect(hindrance(state, newest)).toBe(words);
  });

  it("not when its rollout has left all sentinels out", () => {
    const status = { state: "completed", image, total: 0, left_out: 4 } as const;

    expect(findHindrance(image, { fleet: "staging", status, hasCompleted: false })).toBe(
      "its rollout to staging has left all sentinels out",
    );
  });

  it("also when a rollout found an empty fleet, which leaves nobody out", () => {
    const status = { state: "completed", image, total: 0, left_out: 0 } as const;

    expect(findHindrance(image, { fleet: "staging", status, hasCompleted: false })).toBeUndefined();
  });

  it("also when some sentinels were left out, but not all", () => {
    const status = { state: "completed", image, total: 4, left_out: 1 } as const;

    expect(findHindrance(image, { fleet: "staging", status, hasCompleted: false })).toBeUndefined();
  });

  it("not after it was tried again and did not complete, although it once had", () => {
    expect(hindrance("paused", image, true)).toBe("its rollout to staging is paused");
  });
});

it("the refusal names every fleet that comes first, and the command that lists them", () => {
  expect(notPromoted("production", ["staging has not completed it", "b is paused"])).toMatchObject({
    status: 409,
    code: "not_promoted",
    message:
      "production takes an image only after other fleets: staging has not completed it; b is paused (vedette promotions list)",
  });
});

describe("refuseCircle", () => {
  const row = (fleet: string, after: string) => ({
    id: `${after}-${fleet}`,
    fleet,
    after,
    reason: "r",
  });

  it("takes a chain, and two fleets before one", () => {
    const known = [row("b", "a"), row("c", "b")];

    expect(() => refuseCircle(known, row("d", "c"))).not.toThrow();
    expect(() => refuseCircle(known, row("c", "a"))).not.toThrow();
  });

  it("refuses what would close a circle over several", () => {
    const known = [row("b", "a"), row("c", "b")];

    expect(() => refuseCircle(known, row("a", "c"))).toThrow("c waits for a already");
  });
});
