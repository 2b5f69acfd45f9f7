import { describe, expect, it } from "vitest";
import { boundLabels } from "#fleet/drivers/driver.ts";

describe("boundLabels", () => {
  it("keeps labels as Kubernetes has them", () => {
    const labels = { tier: "canary", "topology.kubernetes.io/zone": "eu-1a", empty: "" };

    expect(boundLabels(labels)).toEqual(labels);
  });

  it.each([undefined, null, "tier=canary", 7, [[]], [["canary"]]])("has none of %j", (given) => {
    expect(boundLabels(given)).toEqual({});
  });

  it("drops what is no label, and keeps the others", () => {
    const given = JSON.parse(
      '{"tier":"canary","__proto__":"x","":"x","a b":"x","n":7,"two":"a\\nb","long":"' +
        `${"x".repeat(64)}","o":{}}`,
    );

    expect(boundLabels(given)).toEqual({ tier: "canary" });
  });

  it("keeps 32, by name", () => {
    const given = Object.fromEntries(Array.from({ length: 99 }, (_, i) => [`l${99 - i}`, "x"]));

    const labels = boundLabels(given);

    expect(Object.keys(labels)).toHaveLength(32);
    expect(Object.keys(labels)).toEqual(Object.keys(given).sort().slice(0, 32));
  });
});
