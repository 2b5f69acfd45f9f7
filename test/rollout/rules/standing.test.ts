/** The sentence about what the sentinels of a rollout run. */
import { describe, expect, it } from "vitest";
import { describeStanding } from "#rollout/rules/standing.ts";

const at = (version: string) => `registry.example.com/team/app:${version}`;

type Standing = Parameters<typeof describeStanding>[0];

const facts = {
  ...{ image: at("v3"), previousImage: at("v2") },
  ...{ total: 8, succeeded: 3, failed: 0, inFlight: 0 },
};

const textOf = (over: Partial<Standing>) =>
  describeStanding({ ...facts, ...over })
    .map(({ text }) => text)
    .join(" ");

describe("the standing of a rollout", () => {
  it("tells failed sentinels that serve from those that serve nothing, which it names", () => {
    const serving = { "gw-1": at("v2"), "gw-2": "", "gw-5": "" };

    expect(textOf({ failed: 3, serving })).toBe(
      "3 of 8 run v3. 1 failed and still serves v2. 2 failed and serve nothing: gw-2, gw-5. 2 run v2.",
    );
  });

  it("names five that serve nothing and counts the rest", () => {
    const serving = Object.fromEntries(["a", "b", "c", "d", "e", "f"].map((id) => [id, ""]));

    expect(textOf({ succeeded: 0, failed: 6, serving })).toContain(
      "6 failed and serve nothing: a, b, c, d, e and 1 more.",
    );
  });

  it("counts failed sentinels that serve the new image all the same", () => {
    const parts = describeStanding({ ...facts, failed: 2, serving: { a: at("v3"), b: at("v2") } });

    expect(parts.map(({ failed_on_image: count }) => count)).toEqual([0, 1, 0, 0]);
  });

  it("says of how many nobody knows whether they serve", () => {
    expect(textOf({ failed: 2, serving: { a: at("v2") } })).toContain(
      "1 failed, and whether it serves is not known.",
    );
  });

  it("counts the failed alone where nothing was recorded of them", () => {
    expect(textOf({ failed: 2 })).toBe("3 of 8 run v3. 2 failed. 3 run v2.");
  });

  it("uses whole names where tags do not tell the images apart", () => {
    const other = "registry.example.com/team/other:v3";

    expect(textOf({ previousImage: other })).toBe(`3 of 8 run ${at("v3")}. 5 run ${other}.`);
  });

  it("takes another spelling of an image for the same", () => {
    const digest = `@sha256:${"a".repeat(64)}`;

    expect(
      textOf({ image: `${at("v3")}${digest}`, failed: 1, serving: { a: at("v3") } }),
    ).toContain("1 failed and serves v3.");
  });

  it("is nothing before the fleet is known", () => {
    expect(textOf({ total: 0 })).toBe("");
  });
});
