import { expect, it } from "vitest";
import { takenAfter } from "#monitor/transitions/hand-over.ts";

const minute = 60_000;

it("a snapshot is later than the one before, also when a clock was slightly ahead", () => {
  expect(takenAfter(0, 5 * minute)).toBe(5 * minute);
  expect(takenAfter(5 * minute, 5 * minute)).toBe(5 * minute + 1);
  expect(takenAfter(9 * minute, 5 * minute)).toBe(9 * minute + 1);
});

it("a snapshot of a clock that was far ahead is ignored", () => {
  expect(takenAfter(60 * minute, 5 * minute)).toBe(5 * minute);
});
