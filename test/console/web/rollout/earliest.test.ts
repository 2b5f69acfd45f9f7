import { expect, it } from "vitest";
import { startWords } from "#console/web/rollout/words.ts";
import { when } from "#console/web/times.ts";

const nowMs = Date.parse("2026-12-20T12:00:00Z");
const later = "2026-12-20T12:05:00.000Z";

it.each([
  ["2026-12-20T12:00:30.000Z", ""],
  [later, `not before ${when(later, nowMs)}`],
  [null, "not within a year"],
])("says of a start at %s: %s", (earliest_start, words) => {
  expect(startWords({ earliest_start }, nowMs)).toBe(words);
});
