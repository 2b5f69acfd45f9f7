import { expect, it } from "vitest";
import { parseSentinelCount } from "#cli/options.ts";

it("parses a number of sentinels", () => {
  expect(parseSentinelCount("0")).toBe(0);
  expect(parseSentinelCount("1200")).toBe(1_200);
});

it.each(["", " ", "\t", "1e3", "-1", "0x10", "many"])("%j is not a number of sentinels", (text) => {
  expect(() => parseSentinelCount(text)).toThrow("For example: 3");
});
