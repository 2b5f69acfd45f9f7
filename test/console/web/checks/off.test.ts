import { expect, it } from "vitest";
import { offWords } from "#console/web/checks/off.ts";

it.each([
  { status: "paused", missing_settings: ["monitor.key"], words: "off: set monitor.key" },
  {
    status: "paused",
    missing_settings: ["monitor.root_key", "monitor.key"],
    words: "off: set monitor.root_key and monitor.key",
  },
  { status: "pending", missing_settings: ["monitor.key"], words: "off: set monitor.key" },
  { status: "paused", missing_settings: [], words: "off until its next run" },
  { status: "ok", missing_settings: [], words: undefined },
] as const)("$status without $missing_settings: $words", ({ status, missing_settings, words }) => {
  expect(offWords({ status, missing_settings: [...missing_settings] })).toBe(words);
});

it("takes a heartbeat, which lacks none, as it is", () => {
  expect(offWords({ status: "late" })).toBeUndefined();
});
