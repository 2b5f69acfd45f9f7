import { expect, it } from "vitest";
import { percentWords } from "#console/web/rollout/words.ts";

it("says which part of its percentage a wave is, where a cap has split it", () => {
  const waves = [5, 50, 50, 100].map((percentage, i) => ({ wave: i + 1, percentage }));

  const words = waves.map((wave) => percentWords(wave, waves).replaceAll("\u00a0", " "));

  expect(words).toEqual(["5 %", "50 %, part 1 of 2", "50 %, part 2 of 2", "100 %"]);
});
