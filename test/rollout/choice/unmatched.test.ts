/** Which names of a choice no sentinel has. */
import { expect, it } from "vitest";
import type { FleetMember } from "#fleet/contract.ts";
import type { Choice, Pin } from "#rollout/choice/contract.ts";
import { findUnmatched, requireMatches, warnOfPins } from "#rollout/choice/unmatched.ts";

const member = (id: string, region: string, labels = {}): FleetMember => ({
  id,
  region,
  labels,
  image: "",
  running_image: "",
  health: "healthy",
});

const fleet = [
  member("gw-1", "eu", { tier: "canary", kernel: "5" }),
  member("gw-2", "eu", { tier: "stable", kernel: "5" }),
  member("gw-12", "us", { tier: "stable", kernel: "4" }),
  ...["a", "b", "c", "d"].map((name) => member(`other-${name}`, "us", { tier: "stable" })),
];

it.each<Choice>([
  {},
  { exclude: [{ ids: ["gw-1"] }, { regions: ["us"], labels: { kernel: "4" } }] },
  { only: { ids: ["gw-1", "gw-12"], regions: ["eu"] } },
  { regions: ["us", "eu"], canary_labels: { tier: "canary", kernel: "5" } },
])("a choice of what there is, %j, has no faults", (choice) => {
  expect(findUnmatched(fleet, choice)).toEqual([]);
});

it("the refusal names the ids that were probably meant", () => {
  expect(findUnmatched(fleet, { exclude: [{ ids: ["gw-1", "gw-11"] }] })).toEqual([
    "exclude.0.ids: no sentinel is called gw-11: did you mean gw-1 or gw-12?",
  ]);
});

it("the refusal names what many names of a field lack, and counts the rest", () => {
  const regions = ["ap", "sa", "af", "me", "oc"];

  expect(findUnmatched(fleet, { regions })).toEqual([
    "regions: no sentinel is in ap, sa, af and 2 more; there are eu, us",
  ]);
});

it.each<[Choice, string]>([
  [
    { canary_labels: { tier: "canry" } },
    "canary_labels: no sentinel has tier=canry: did you mean tier=canary?",
  ],
  [
    { exclude: [{ labels: { teir: "stable" } }] },
    "exclude.0.labels: no sentinel has teir=stable: did you mean tier=stable?",
  ],
  [{ only: { regions: ["eu-1"] } }, "only.regions: no sentinel is in eu-1; there are eu, us"],
])("%j has a fault that begins with the field's path", (choice, words) => {
  expect(findUnmatched(fleet, choice).join("\n")).toContain(words);
});

it.each<[Choice, string]>([
  [{ exclude: [{ ids: ["gw-1"], regions: ["us"] }] }, "exclude.0"],
  [{ only: { ids: ["gw-1"], labels: { kernel: "4" } } }, "only"],
  [{ canary_labels: { tier: "canary", kernel: "4" } }, "canary_labels"],
])("%j, of which no sentinel has all, is a fault of the whole", (choice, path) => {
  expect(findUnmatched(fleet, choice)).toEqual([`${path}: no sentinel matches all of it together`]);
});

it("the refusal says of an empty fleet that there are none", () => {
  expect(findUnmatched([], { regions: ["eu"] })).toEqual([
    "regions: no sentinel is in eu; there are none",
  ]);
});

it("warns of pins that hold, not of those that are over", () => {
  const pin = (id: string, ends?: string): Pin => ({
    id,
    ids: ["gw-3"],
    reason: "a test",
    ...(ends !== undefined && { ends }),
  });
  const pins = [pin("now"), pin("over", "2026-01-01T00:00:00Z")];

  const warnings = warnOfPins(fleet, { pins, nowMs: Date.parse("2026-06-01T00:00:00Z") });

  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toMatch(
    /^pin now, ids: no sentinel is called gw-3: did you mean gw-1 or gw-2/,
  );
});

const held = { pins: [], nowMs: 0 };
const canaries = { labels: { tier: "canary" } };

it.each<[Choice & { pins?: Pin[] }, string]>([
  [
    { only: { ids: ["gw-1"] }, exclude: [canaries] },
    "of 7 sentinels all are left out by exclude.0 (tier=canary) and only (gw-1)",
  ],
  [
    { only: { ids: ["gw-1"] }, pins: [{ id: "leak", ids: ["gw-1"], reason: "a test" }] },
    "of 7 sentinels all are left out by only (gw-1) and pins",
  ],
])("%j is refused, because nobody is left to deploy to", (choice, words) => {
  expect(() => requireMatches(fleet, { ...held, ...choice })).toThrow(
    `nobody is left to deploy to: ${words}`,
  );
});

it.each<Choice & { pins?: Pin[] }>([
  { exclude: [canaries] },
  { pins: [{ id: "all", labels: { kernel: "5" }, regions: ["eu"], reason: "a test" }] },
  { pins: [{ id: "all", ids: fleet.map(({ id }) => id), reason: "a test" }] },
])("%j is not refused", (choice) => {
  expect(() => requireMatches(fleet, { ...held, ...choice })).not.toThrow();
});
