import { describe, expect, it } from "vitest";
import type { RolloutStatus } from "#rollout/contract.ts";
import { refuseCircle } from "#rollout/promotions/store.ts";
import { findHindrance } from "#rollout/rules/promotion.ts";

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

  it("not after it was tried again and did not complete, although it once had", () => {
    expect(hindrance("paused", image, true)).toBe("its rollout to staging is paused");
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
