import { expect, it } from "vitest";
import {
  parseExpiry,
  parseGateRuns,
  parseGateTimeout,
  parseLabels,
  parseNotBefore,
  parseSentinelCount,
  parseSoak,
  parseWatch,
  parseWaves,
} from "#cli/options.ts";

it.each([
  ["10m", 600],
  ["600", 600],
  ["1h,10m,0", [3_600, 600, 0]],
])("a soak of %s is %j seconds", (text, seconds) => {
  expect(parseSoak(text)).toEqual(seconds);
});

it("parses the time of a watch, a day at most", () => {
  expect(parseWatch("1h")).toBe(3_600);
  expect(() => parseWatch("2d")).toThrow("1d at most");
});

it.each(["10m", "600"])("a gate's timeout of %s is 600 seconds", (text) => {
  expect(parseGateTimeout(text)).toBe(600);
});

it("parses a number of sentinels", () => {
  expect(parseSentinelCount("0")).toBe(0);
  expect(parseSentinelCount("1200")).toBe(1_200);
});

it.each(["", " ", "\t", "1e3", "-1", "0x10", "many"])("%j is not a number of sentinels", (text) => {
  expect(() => parseSentinelCount(text)).toThrow("For example: 3");
});

it.each([
  [
    parseWaves,
    "5,ten,100",
    "expected a whole number from 1 to 100, got 'ten'. For example: 5,25,100",
  ],
  [parseWaves, "5,,100", "expected a whole number from 1 to 100, got an empty text."],
  [parseGateRuns, "1.5", "expected a whole number from 1 to 100, got 1.5."],
  [parseGateTimeout, "ten", "expected a whole number from 10 to 86400, got 'ten'. In seconds"],
  [parseGateTimeout, "1s", "expected a whole number from 10 to 86400, got 1. In seconds"],
  [parseSoak, "10min", "got '10min'. In seconds, or with a unit: 10m"],
  [parseSoak, "abc", "expected a whole number from 0 to 604800 or a list, got 'abc'. In seconds"],
  [
    parseSoak,
    "90d",
    "got 7776000. In seconds, or with a unit: 10m, or one for each wave: 1h,10m,0; 7d at most",
  ],
  [parseGateTimeout, "2d", "got 172800. In seconds, or as 10m; 24h at most"],
  [parseSoak, "600,", "1: expected a whole number from 0 to 604800, got an empty text. In seconds"],
  [parseNotBefore, "tomorrow", "such as 2026-12-01T22:00:00Z, got 'tomorrow'."],
  [parseLabels, "tier", "tier: is missing: expected text. For example: tier=canary"],
])("%#: %o says of %j what was expected", (parse, text, words) => {
  expect(() => parse(text)).toThrow(words);
});

it("an expiry takes every unit of a duration", () => {
  const before = Date.now();

  expect(parseExpiry("10m").getTime()).toBeGreaterThanOrEqual(before + 600_000);
});
