import { expect, it } from "vitest";
import { takenAfter } from "#monitor/transitions/hand-over.ts";

const minute = 60_000;

it("a snapshot is taken later than the one before, also when a clock was a little ahead", () => {
  expect(takenAfter(0, 5 * minute)).toBe(5 * minute);
  expect(takenAfter(5 * minute, 5 * minute)).toBe(5 * minute + 1);
  expect(takenAfter(9 * minute, 5 * minute)).toBe(9 * minute + 1);
});

it("one of a clock that was far ahead is no measure", () => {
  expect(takenAfter(60 * minute, 5 * minute)).toBe(5 * minute);
});
