import { expect, it } from "vitest";
import { describeNoise } from "../../bench/run.ts";
import { describeVerdict, grade } from "../../bench/verdict.ts";

it.each([
  ["at most", 100, { atMost: 100 }, "met"],
  ["at most, by a tenth", 109.9, { atMost: 100 }, "close"],
  ["at most, by more", 110.2, { atMost: 100 }, "missed"],
  ["under", 3.99, { under: 4 }, "met"],
  ["under, with the limit itself", 4, { under: 4 }, "close"],
  ["under, by more", 4.41, { under: 4 }, "missed"],
  ["at least", 2, { atLeast: 2 }, "met"],
  ["at least, by a tenth", 1.81, { atLeast: 2 }, "close"],
  ["at least, by more", 1.79, { atLeast: 2 }, "missed"],
  ["at most, with a gain instead of a loss", -8, { atMost: 10 }, "met"],
  ["none, with none", 0, { atMost: 0 }, "met"],
  ["none, with one", 1, { atMost: 0 }, "missed"],
  ["at most, with nothing measured", Number.NaN, { atMost: 100 }, "missed"],
  ["at least, with nothing measured", Number.NaN, { atLeast: 2 }, "missed"],
])("a figure is graded that is to be %s: %d", (_, found, aim, outcome) => {
  expect(grade(found, aim)).toBe(outcome);
});

it("a verdict has the figure and the aim, both with their unit", () => {
  const line = describeVerdict("Cancel answers, p99", 27.4512, { atMost: 100, unit: "ms" });

  expect(line).toBe("MET: Cancel answers, p99: 27.451 ms (aim: at most 100 ms)");
});

it("a verdict without a unit has none", () => {
  const line = describeVerdict("against the floor", 0.4, { atLeast: 0.55 });

  expect(line).toBe("MISSED: against the floor: 0.4 (aim: at least 0.55)");
});

it("what a run did not measure has an aim and no verdict", () => {
  const line = describeVerdict("a sentinel of 10,000", undefined, { atMost: 1.5, unit: "ms" });

  expect(line).toBe("not measured: a sentinel of 10,000 (aim: at most 1.5 ms)");
});

it("a miss that is no failure says so", () => {
  const line = describeVerdict("from the deadline", 1_040.26, { under: 1_000, unit: "ms" });

  expect(line).toBe(
    "MISSED: from the deadline: 1,040.3 ms (aim: under 1,000 ms, missed by no more than a tenth)",
  );
});

it("a machine that is quiet before and after is not spoken of", () => {
  expect(describeNoise(0.02, 0.1)).toBeUndefined();
});

it.each([
  [0.84, 0],
  [0, 0.84],
])("a machine that others used is told: %d before, %d after", (before, after) => {
  const used = `${before.toFixed(1)} processors before it, ${after.toFixed(1)} after it`;

  expect(describeNoise(before, after)).toContain(`NOT QUIET: others used ${used}`);
});
