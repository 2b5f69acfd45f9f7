import { describe, expect, it } from "vitest";
import { compareImages, parseImageReference } from "#kernel/image-reference.ts";

const b = `sha256:${"b".repeat(64)}`;
const c = `sha256:${"c".repeat(64)}`;
const gateway = "registry.example.com/team/gateway";

describe("compareImages", () => {
  it.each([
    [`${gateway}:v2`, `${gateway}:v2`, "same"],
    [`${gateway}:v2@${b}`, `${gateway}@${b}`, "same"],
    [`${gateway}:v2@${b}`, `${gateway}:v2`, "same"],
    [`${gateway}:v2@${b}`, `mirror.example.com/${gateway}:v1@${b}`, "same"],
    [`Registry.Example.com/team/gateway:v2`, `${gateway}:v2`, "same"],
    ["redis:8", "docker.io/library/redis:8", "same"],
    ["redis", "index.docker.io/library/redis:latest", "same"],
    [`docker-pullable://${gateway}@${b}`, `${gateway}:v2@${b}`, "same"],
    [`${gateway}:v2@${b}`, `${gateway}:v2@${c}`, "other"],
    [`${gateway}:v2`, `${gateway}:v3`, "other"],
    [`${gateway}:v2`, `mirror.example.com/${gateway}:v2`, "other"],
    ["localhost:5000/gateway", "localhost:5001/gateway", "other"],
    [b, c, "other"],
    ["", `${gateway}:v2`, "other"],
    [`${gateway}:v2`, `${gateway}@${b}`, "unknown"],
    [`${gateway}:v2`, `other.example.com/gateway@${b}`, "other"],
  ])("compares %s with %s: %s", (one, other, expected) => {
    const compared = [compareImages(one, other), compareImages(other, one)];

    expect(compared).toEqual([expected, expected]);
  });
});

describe("parseImageReference", () => {
  it("separates a port from a tag", () => {
    const parsed = parseImageReference("localhost:5000/team/gateway");

    expect(parsed).toEqual({
      registry: "localhost:5000",
      repository: "team/gateway",
      tag: "latest",
      digest: undefined,
    });
  });

  it.each(["", b, "two words"])("finds no reference in %j", (text) => {
    const parsed = parseImageReference(text);

    expect(parsed).toBeUndefined();
  });
});
