import fc from "fast-check";
import { expect, it } from "vitest";
import { pinsOn, untilOf } from "#console/web/rows/pins.ts";
import { when } from "#console/web/times.ts";
import { whichOf } from "#kernel/words.ts";
import type { ListedPin, Selector } from "#rollout/choice/contract.ts";
import { leaveOut } from "#rollout/choice/leave-out.ts";

it.each<[Selector, string]>([
  [{ ids: ["gw-7", "gw-8"] }, "gw-7, gw-8"],
  [{ ids: ["a", "b", "c", "d", "e", "f", "g"] }, "a, b, c, d, e and 2 more"],
  [{ regions: ["eu"] }, "in eu"],
  [{ labels: { tier: "canary", kernel: "5" } }, "tier=canary, kernel=5"],
  [{ ids: ["gw-7"], regions: ["eu"], labels: { tier: "canary" } }, "gw-7; in eu; tier=canary"],
])("says of %j: %s", (selector, words) => {
  expect(whichOf(selector)).toBe(words);
});

it("says until when a pin holds", () => {
  const ends = "2027-06-15T12:00:00Z";

  expect(untilOf({})).toBe("until it is removed");
  expect(untilOf({ ends })).toBe(`until ${when(ends)}`);
});

const nowMs = Date.parse("2026-12-01T00:00:00Z");
const id = fc.constantFrom("gw-1", "gw-2");
const region = fc.constantFrom("eu", "us");
const labels = fc.dictionary(fc.constantFrom("tier", "kernel"), fc.constantFrom("a", "b"));
const member = fc.record({ id, region, labels });
const ends = fc.constantFrom(
  "2026-11-30T00:00:00Z",
  "2026-12-01T00:00:00Z",
  "2026-12-02T00:00:00Z",
);
const pin = fc
  .record({ ids: fc.array(id), regions: fc.array(region), labels, ends }, { requiredKeys: [] })
  .map((fields): ListedPin => {
    return { id: "p", ...fields, reason: "why", added_by: "alice", added_at: "2026-11-01" };
  });

it("finds a pin on a sentinel exactly where a rollout leaves it out", () => {
  fc.assert(
    fc.property(member, pin, (sentinel, one) => {
      const known = { ...sentinel, image: "", running_image: "", health: "healthy" as const };

      const { leftOut } = leaveOut([known], { pins: [one], nowMs });

      expect(pinsOn(sentinel, [one], nowMs)).toHaveLength(leftOut.length);
    }),
  );
});
