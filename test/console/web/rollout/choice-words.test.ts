import { expect, it } from "vitest";
import { choiceFacts, choiceLine } from "#console/web/rollout/words.ts";

it("says nothing of a rollout that takes every sentinel alike", () => {
  expect(choiceFacts({})).toEqual([]);
  expect(choiceLine({})).toBe("");
});

it("says what a rollout takes first, what it leaves out, and its limits", () => {
  const facts = choiceFacts({
    canary_labels: { tier: "canary" },
    regions: ["eu", "us"],
    max_per_region: "25%",
    max_unavailable: 0,
    exclude: [{ ids: ["gw-7"] }, { regions: ["ap"], reason: "maintenance" }],
  });

  expect(facts).toEqual([
    ["Canaries first", "tier=canary"],
    ["Order of regions", "eu, us"],
    ["Cap per region", "25% in a wave"],
    ["Unavailable at most", "0"],
    ["Excluded", "gw-7 · in ap (maintenance)"],
  ]);
});
