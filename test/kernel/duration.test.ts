import { expect, it } from "vitest";
import { formatDuration, parseDuration } from "#kernel/time.ts";

it.each([
  ["500ms", 500],
  ["2s", 2_000],
  ["1.5h", 5_400_000],
  ["7d", 604_800_000],
  [" 15 m ", 900_000],
])("%s is a duration", (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

it.each(["", "2", "s", "-2s", "2 weeks", "1e3s"])("%j is not a duration", (text) => {
  expect(parseDuration(text)).toBeUndefined();
});

it.each([
  [0.4, "0 ms"],
  [340, "340 ms"],
  [12_340, "12.3 s"],
  [60_000, "60 s"],
  [300_000, "5 min"],
  [93_600_000, "26 h"],
  [604_800_000, "7 days"],
])("%d ms is written as %s", (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});
