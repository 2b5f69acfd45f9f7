import { expect, it } from "vitest";
import { day } from "#console/web/format.ts";
import { startWords } from "#console/web/rollout/earliest.ts";

const nowMs = Date.parse("2026-12-20T12:00:00Z");
const later = "2026-12-20T12:05:00.000Z";

it.each([
  [undefined, ""],
  ["2026-12-20T12:00:30.000Z", ""],
  [later, `not before ${day(later)}`],
  [null, "not within a year"],
])("says of a start at %s: %s", (earliest_start, words) => {
  expect(startWords({ earliest_start }, nowMs)).toBe(words);
});
