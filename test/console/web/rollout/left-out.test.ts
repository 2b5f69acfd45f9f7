import { expect, it } from "vitest";
import { causesOf, countHeldBack } from "#console/web/rollout/words.ts";

const named = (count: number, pin: string | null, reason: string) =>
  Array.from({ length: count }, (_, n) => ({ id: `${pin ?? "gw"}-${n}`, pin, reason }));

it("names each pin and the request once, with the sentinels that it leaves out", () => {
  const plan = {
    left_out: [...named(2, "debug", "a leak"), ...named(1, null, ""), ...named(1, "old", "a leak")],
    left_out_count: 4,
  };

  expect(causesOf(plan)).toEqual({
    causes: [
      { pin: "debug", reason: "a leak", ids: ["debug-0", "debug-1"] },
      { pin: null, reason: "", ids: ["gw-0"] },
      { pin: "old", reason: "a leak", ids: ["old-0"] },
    ],
    unnamed: 0,
  });
});

it("counts the sentinels that are not named", () => {
  expect(causesOf({ left_out: named(100, "p", "why"), left_out_count: 130 }).unnamed).toBe(30);
});

it("names 20 causes at most", () => {
  const each = Array.from({ length: 30 }, (_, n) => named(1, `p-${n}`, "why")).flat();

  const { causes, unnamed } = causesOf({ left_out: each, left_out_count: 30 });

  expect([causes.length, unnamed]).toEqual([20, 10]);
});

it("counts by wave the sentinels that a pin has held back", () => {
  const counts = countHeldBack({ marks: "slwls", waves: [1, 1, 2, 2, 2] });

  expect([...counts]).toEqual([
    [1, 1],
    [2, 1],
  ]);
});
