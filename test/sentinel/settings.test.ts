import { describe, expect, it } from "vitest";
import { behaviourOf, readSettings } from "#sentinel/settings.ts";

describe("behaviourOf", () => {
  it.each([
    ["r.io/a:v2", "normal"],
    ["r.io/a:v2-crash", "crash"],
    ["r.io/a:v2-sick", "sick"],
    ["r.io/a:v2-slow", "slow"],
    ["r.io/a-crash:v2", "normal"],
    [`r.io/a-crash@sha256:${"0".repeat(64)}`, "normal"],
    [`r.io/a:v2-crash@sha256:${"0".repeat(64)}`, "crash"],
  ])("of %s is %s", (image, behaviour) => {
    expect(behaviourOf(image)).toBe(behaviour);
  });
});

describe("readSettings", () => {
  it("says what must be set", () => {
    expect(() => readSettings({})).toThrow("SENTINEL_ID, SENTINEL_IMAGE and SENTINEL_PUBLIC_PORT");
  });
});
