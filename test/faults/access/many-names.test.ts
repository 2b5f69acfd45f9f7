/** Requests that name thousands of labels, ids and regions which nobody has are refused in a few words. */
import { expect, it } from "vitest";
import { hintOf } from "#kernel/text.ts";
import { findUnmatched, warnOfPins } from "#rollout/choice/unmatched.ts";
import { RolloutRequest } from "#rollout/contract.ts";

const listOf = <Item>(count: number, item: (i: number) => Item) =>
  Array.from({ length: count }, (_, i) => item(i));
const labelsOf = (label: (i: number) => [string, unknown]) =>
  Object.fromEntries(listOf(70_000, label));

it.each<[string, object]>([
  ["labels with wrong names", { canary_labels: labelsOf((i) => [`!${i}`, "x"]) }],
  ["labels with wrong values", { only: { labels: labelsOf((i) => [`a${i}`, 1]) } }],
  ["labels", { exclude: [{ labels: labelsOf((i) => [`a${i}`, "x"]) }] }],
  ["ids", { only: { ids: listOf(70_000, () => 1) } }],
  ["regions", { regions: listOf(70_000, () => "") }],
  ["exclusions", { exclude: listOf(70_000, () => ({ x: 1 })) }],
])("70,000 %s have a few faults", (_, choice) => {
  const { error } = RolloutRequest.safeParse({ image: "registry.example.com/a/b:v1", ...choice });

  expect(error?.issues.length).toBeGreaterThan(0);
  expect(error?.issues.length).toBeLessThan(12);
});

const fleet = listOf(30_000, (i) => ({
  ...{ id: `gw-${i}`, region: `r-${i % 20}`, labels: { host: `h-${i}` } },
  ...{ image: "", running_image: "", health: "healthy" as const },
}));
const selectors = listOf(200, (i) => ({
  ids: [`no-${i}`],
  regions: [`no-${i}`],
  labels: { no: `${i}` },
}));

it("of many wrong names in a large fleet one has a hint", () => {
  const lines = findUnmatched(fleet, { exclude: selectors.slice(0, 10) });

  expect(lines).toHaveLength(30);
  expect(lines.filter((line) => line.includes("there are gw-"))).toHaveLength(1);
});

it("200 pins that match nothing have short warnings", () => {
  const pins = selectors.map((selector, i) => ({ id: `pin-${i}`, reason: "a test", ...selector }));

  const lines = warnOfPins(fleet, { pins, nowMs: 0 });

  expect(lines).toHaveLength(600);
  expect(lines.join().length).toBeLessThan(50_000);
});

it("a name of a million letters is not compared letter by letter", () => {
  const startedMs = performance.now();

  expect(hintOf("x".repeat(1_000_000), ["per_wave", "in_all"])).toBe(
    "; there are per_wave, in_all",
  );
  expect(performance.now() - startedMs).toBeLessThan(200);
});
