import { describe, expect, it } from "vitest";
import {
  alreadyRuns,
  compareImages,
  describeRequestedImage,
  isSameContent,
  parseImageReference,
  requestedImage,
  shortenImage,
} from "#kernel/image-reference.ts";

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
    [`${gateway}:v2`, `mirror.example.com/${gateway}:v2`, "unknown"],
    [`${gateway}:v2@${b}`, `mirror.example.com/cache/${gateway}:v2`, "unknown"],
    ["redis:8", "mirror.example.com/docker.io/library/redis:8", "unknown"],
    [`${gateway}:v2`, `mirror.example.com/${gateway}:v3`, "other"],
    [`${gateway}:v2`, `mirror.example.com/not-${gateway}:v2`, "other"],
    ["localhost:5000/gateway", "localhost:5001/gateway", "other"],
    [b, c, "other"],
    [`${gateway}:v2@${b}`, b, "same"],
    [`${gateway}:v2@${b}`, c, "unknown"],
    [`${gateway}:v2`, `docker://${c}`, "unknown"],
    [`${gateway}:v2@${b}`, `${gateway}@${b.toUpperCase().replace("SHA", "sha")}`, "same"],
    [`oci://${gateway}:v2`, `${gateway}:v2`, "same"],
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

describe("isSameContent", () => {
  it.each([
    [`${gateway}:v2@${b}`, `${gateway}@${b}`, true],
    [`${gateway}:v2`, `${gateway}:v2`, true],
    ["redis:8", "docker.io/library/redis:8", true],
    [`${gateway}:v2@${b}`, `${gateway}:v2`, false],
    [`${gateway}:v2@${b}`, `${gateway}:v2@${c}`, false],
    [`${gateway}:v2`, `${gateway}@${b}`, false],
    ["", `${gateway}:v2`, false],
  ])("of %s and %s is %s", (one, other, expected) => {
    const answers = [isSameContent(one, other), isSameContent(other, one)];

    expect(answers).toEqual([expected, expected]);
  });
});

describe("alreadyRuns", () => {
  const pinned = `${gateway}:v2@${b}`;

  it.each([
    ["by its digest alone", `${gateway}@${b}`, `${gateway}@${b}`, true],
    ["through a mirror", pinned, `mirror.example.com/${gateway}:v2@${b}`, true],
    ["and is to by its tag", `${gateway}:v2`, `${gateway}@${b}`, true],
    ["by a tag that may have been moved", pinned, `${gateway}:v2`, false],
    ["with the digest that the tag had before", `${gateway}:v2@${c}`, `${gateway}:v2@${c}`, false],
    ["and is to run another one", `${gateway}:v1`, pinned, false],
  ])("of a sentinel that runs it %s", (_, image, running_image, expected) => {
    const isLeftOut = alreadyRuns({ image, running_image }, pinned);

    expect(isLeftOut).toBe(expected);
  });
});

describe("shortenImage", () => {
  it.each([
    [`${gateway}@${b}`, `${gateway}@sha256:bbbbbbbbbbbb`],
    [`${gateway}:v2@${b}`, `${gateway}:v2@sha256:bbbbbbbbbbbb`],
    [b, "sha256:bbbbbbbbbbbb"],
    [`${gateway}:v2`, `${gateway}:v2`],
    [`${gateway}:${"b".repeat(64)}`, `${gateway}:${"b".repeat(64)}`],
  ])("of %s is %s", (image, short) => {
    const shortened = shortenImage(image);

    expect(shortened).toBe(short);
  });
});

describe("describeRequestedImage", () => {
  it.each([
    [`https://${gateway}:v2`, `write ${gateway}:v2`],
    [`docker://${gateway}@${b}`, `write ${gateway}@${b}`],
    [`${gateway}@sha256:${"B".repeat(64)}`, `write ${gateway}@${b}`],
    [`${gateway}:v2\n`, `write ${gateway}:v2`],
    [`${gateway}:v 2`, "it has a blank or a line break inside"],
    [`${gateway}@sha512:${"b".repeat(128)}`, "others, such as sha512, are not taken"],
    [`${gateway}@sha256:bbbb`, "64 digits"],
    ["sentinel:v2", "it names no registry"],
    [gateway, "it has neither a tag nor a digest"],
    ["registry.example.com/team/Gateway:v2", "a repository is in lower case"],
    [`${gateway}:`, "for example"],
  ])("of %j says: %s", (image, words) => {
    const described = describeRequestedImage(image);

    expect(requestedImage.test(image)).toBe(false);
    expect(described).toContain(words);
  });
});
