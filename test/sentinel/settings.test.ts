import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { spreadOverWaves } from "#rollout/rules/spread.ts";
import { behaviourOf, readSettings } from "#sentinel/gateway.ts";

describe("behaviourOf", () => {
  it.each([
    ["r.io/a:v2", "normal"],
    ["r.io/a:v2-crash", "crash"],
    ["r.io/a:v2-sick", "sick"],
    ["r.io/a:v2-slow", "slow"],
    ["r.io/a-crash:v2", "normal"],
    [`r.io/a-crash@sha256:${"0".repeat(64)}`, "normal"],
    [`r.io/a:v2-crash@sha256:${"0".repeat(64)}`, "crash"],
    ["r.io/a:v2-half", "normal"],
  ])("of %s is %s", (image, behaviour) => {
    expect(behaviourOf({ image, id: "sentinel-01" })).toBe(behaviour);
  });
});

describe("behaviourOf an image whose tag ends in -half", () => {
  it.each(["crash", "sick", "slow"])("-%s-half is %s on even sentinels alone", (behaviour) => {
    const image = `r.io/a:v2-${behaviour}-half`;

    const found = ["sentinel-01", "sentinel-02", "gw"].map((id) => behaviourOf({ image, id }));

    expect(found).toEqual(["normal", behaviour, "normal"]);
  });

  it("lets the first wave of the README's failing example succeed, and the second one fail", () => {
    const [image = ""] = /\S+-crash-half(?= )/.exec(readFileSync("README.md", "utf8")) ?? [];
    const regions = ["eu-central-1", "us-east-1", "ap-southeast-1"];
    const members = Array.from({ length: 12 }, (_, i) => ({
      id: `sentinel-${String(i + 1).padStart(2, "0")}`,
      region: regions[i % 3] ?? "",
    }));

    const [first = [], second = []] = spreadOverWaves(members, [1, 2, 3, 6], image);

    const behaviours = (wave: typeof members) =>
      wave.map(({ id }) => behaviourOf({ image, id })).sort();
    expect(behaviours(first)).toEqual(["normal"]);
    expect(behaviours(second)).toEqual(["crash", "normal"]);
  });
});

describe("readSettings", () => {
  it("says what must be set", () => {
    expect(() => readSettings({})).toThrow("SENTINEL_ID, SENTINEL_IMAGE and SENTINEL_PUBLIC_PORT");
  });
});
