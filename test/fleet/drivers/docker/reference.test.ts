import { describe, expect, it } from "vitest";
import {
  nameForEngine,
  orderedName,
  parseReference,
  pinnedName,
  pullFailure,
  registryAuth,
} from "#fleet/drivers/docker/reference.ts";

const digest = `sha256:${"a".repeat(64)}`;

describe("nameForEngine", () => {
  it.each([
    [`r.io:5000/team/a:v1@${digest}`, `r.io:5000/team/a@${digest}`],
    ["r.io/a:v1", "r.io/a:v1"],
    ["nginx", "nginx:latest"],
    [digest, digest],
  ])("makes of %s %s", (image, name) => {
    expect(nameForEngine(image)).toBe(name);
  });
});

describe("parseReference", () => {
  it.each(["", "A B", "r.io/a:v1@sha256:short", "-a", digest])("knows none in %j", (image) => {
    expect(parseReference(image)).toBeUndefined();
  });
});

describe("pinnedName", () => {
  const Id = `sha256:${"c".repeat(64)}`;
  const none = { Id, RepoDigests: [], RepoTags: [] };

  it("adds the digest of the image's own repository", () => {
    const RepoDigests = [`other.io/a@sha256:${"b".repeat(64)}`, `r.io/a@${digest}`];

    expect(pinnedName("r.io/a:v1", { ...none, RepoDigests })).toBe(`r.io/a:v1@${digest}`);
  });

  it.each([
    ["docker.io/org/a:v1", "org/a"],
    ["docker.io/library/a:v1", "a"],
    ["a:v1", "a"],
  ])("knows %s, which an engine calls %s", (name, repository) => {
    const RepoDigests = [`${repository}@${digest}`];

    expect(pinnedName(name, { ...none, RepoDigests })).toBe(`${name}@${digest}`);
  });

  it("keeps the name of an image that was built on its host, as long as it means that one", () => {
    expect(pinnedName("r.io/a:v1", { ...none, RepoTags: ["r.io/a:v1"] })).toBe("r.io/a:v1");
    expect(pinnedName("r.io/a:v1", { ...none, RepoTags: ["r.io/a:v2"] })).toBe(Id);
  });

  it("finds a name for an image whose tag stands for another one by now", () => {
    const info = { ...none, RepoDigests: [`r.io/a@${digest}`] };

    expect(pinnedName(digest, info)).toBe(`r.io/a@${digest}`);
  });
});

describe("orderedName", () => {
  const image = { Id: `sha256:${"c".repeat(64)}`, RepoDigests: [`r.io/a@${digest}`] };

  it.each([
    ["r.io/a:v1", ["r.io/a:v1"], "r.io/a:v1"],
    ["r.io/a:v1", [], `r.io/a:v1@${digest}`],
    [`r.io/a:v1@${digest}`, [], `r.io/a:v1@${digest}`],
  ])("of %s among the tags %j is %s", (ordered, RepoTags, expected) => {
    expect(orderedName(ordered, { ...image, RepoTags })).toBe(expected);
  });
});

describe("registryAuth", () => {
  const decode = (header: string) =>
    JSON.parse(Buffer.from(header, "base64url").toString()) as object;

  it("is base64url with its padding, without which an engine ignores it", () => {
    const headers = ["p", "pp", "ppp", "?>~?>~"].map((password) =>
      registryAuth({ user: "u", password }, "r.io"),
    );

    for (const header of headers) {
      expect(header.length % 4).toBe(0);
      expect(header).toMatch(/^[\w-]+=*$/);
    }
    expect(decode(headers[3] ?? "")).toEqual({
      username: "u",
      password: "?>~?>~",
      serveraddress: "r.io",
    });
  });

  it("names Docker's own registry as Docker does", () => {
    expect(decode(registryAuth({ identityToken: "t" }, "docker.io"))).toEqual({
      identitytoken: "t",
      serveraddress: "https://index.docker.io/v1/",
    });
  });
});

describe("pullFailure", () => {
  it.each([
    ["image_not_found", true, "manifest for r.io/a:v9 not found: manifest unknown"],
    ["image_auth", true, "Head https://r.io/v2/: no basic auth credentials"],
    ["image_auth", true, "pull access denied for a, repository does not exist"],
    ["image_not_found", true, "r.io/access-denied/a:v2: not found"],
    ["image_auth", true, "failed to fetch oauth token: unexpected status: 401 Unauthorized"],
    ["image_auth", false, "failed to fetch oauth token: unexpected status: 404 Not Found"],
    ["registry_unavailable", false, "parent snapshot sha256:aa does not exist: not found"],
    ["image_platform", true, "no matching manifest for linux/amd64 in the manifest list"],
    ["image_platform", true, "no match for platform in manifest sha256:aa: not found"],
    ["image_platform", true, 'no image found in image index for architecture "arm64", OS "linux"'],
    ["image_not_found", true, 'reading manifest v9 in r.io/a: StatusCode: 404, "<html>"'],
    ["image_not_found", true, "unknown: repository name not known to registry"],
    ["image_auth", false, "unexpected status from HEAD request to https://r.io/v2/: 403 Forbidden"],
    ["invalid_image", true, "invalid reference format"],
    ["registry_unavailable", false, "dial tcp 10.0.0.1:443: connect: connection refused"],
    ["registry_unavailable", false, "toomanyrequests: You have reached your pull rate limit"],
    ["registry_unavailable", false, "received unexpected HTTP status: 503"],
  ])("is %s, and final: %s, for %s", (code, isPermanent, words) => {
    expect(pullFailure(words)).toEqual({ reason: `${code}: ${words}`, isPermanent });
  });
});
