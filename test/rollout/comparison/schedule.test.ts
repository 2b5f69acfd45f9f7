import { expect, it } from "vitest";
import { nextLook, weightOfLook } from "#rollout/comparison/looks.ts";

function looksUntil(minute: number): number[] {
  const looks: number[] = [];
  for (let look = nextLook(0); look <= minute; look = nextLook(look)) looks.push(look);
  return looks;
}

it("looks come each minute, then whenever a tenth more has passed", () => {
  expect(looksUntil(33)).toEqual([
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 21, 24, 27, 30, 33,
  ]);
});

it("the shares of the planned soak sum to nine tenths, and those of a year to less than one", () => {
  const sumUntil = (minute: number) => {
    const looks = looksUntil(minute);
    return looks.reduce((sum, look, i) => sum + weightOfLook(look, looks[i - 1] ?? 0, 30), 0);
  };

  expect(sumUntil(30)).toBeCloseTo(0.9, 10);
  expect(sumUntil(525_600)).toBeGreaterThan(0.97);
  expect(sumUntil(525_600)).toBeLessThan(1);
});

it("a missed look leaves its share to the next", () => {
  const both = weightOfLook(4, 3, 30) + weightOfLook(5, 4, 30);

  expect(weightOfLook(5, 3, 30)).toBeCloseTo(both, 12);
});

it("a soak of no minutes has finite shares", () => {
  expect(weightOfLook(1, 0, 0)).toBeCloseTo(0.9, 10);
});
