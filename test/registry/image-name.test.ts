import { describe, expect, it } from "vitest";
import { isAllowed, isPlainHttp, parseImageName } from "#registry/image-name.ts";

const digest = `sha256:${"ab".repeat(32)}`;

describe("parseImageName", () => {
  it("parses a reference with a port, a deep repository and a digest", () => {
    const name = parseImageName(`registry.example.com:5000/team/sub/app:v1.2@${digest}`);

    expect(name).toEqual({
      registry: "registry.example.com:5000",
      host: "registry.example.com:5000",
      repository: "team/sub/app",
      tag: "v1.2",
      digest,
      tagged: "registry.example.com:5000/team/sub/app:v1.2",
    });
  });

  it("parses a digest without a tag", () => {
    const name = parseImageName(`registry.example.com/team/app@${digest}`);

    expect(name).toMatchObject({
      repository: "team/app",
      tag: undefined,
      digest,
      tagged: "registry.example.com/team/app",
    });
  });

  it("uses the host name of Docker's registry", () => {
    expect(parseImageName("docker.io/team/app:v1")).toMatchObject({
      registry: "docker.io",
      host: "registry-1.docker.io",
      repository: "team/app",
    });
  });

  it("finds Docker's own images in their library", () => {
    expect(parseImageName("docker.io/nginx:1")).toMatchObject({
      repository: "library/nginx",
      tagged: "docker.io/nginx:1",
    });
  });

  it("accepts a name that fits the length of an image together with its digest", () => {
    const { tagged } = parseImageName(`registry.example.com/${"x".repeat(416)}:v1`);

    expect(tagged).toHaveLength(440);
    expect(`${tagged}@${digest}`).toHaveLength(512);
  });

  it("ignores the case of host names", () => {
    expect(parseImageName("GHCR.io/team/app:v1").registry).toBe("ghcr.io");
  });

  it.each([
    "app",
    "registry.example.com/app",
    "registry.example.com/app@sha256:12",
    `registry.example.com/app@${digest.toUpperCase()}`,
    `registry.example.com/app@sha512:${"ab".repeat(64)}`,
    `registry.example.com/${"x".repeat(420)}@${digest}`,
    `https://registry.example.com/app@${digest}`,
    "registry.example.com/App:v1",
    "registry.example.com/../app:v1",
    "registry.example.com/team/../other/app:v1",
    "registry.example.com/team/./app:v1",
    "registry.example.com/team//app:v1",
    "registry.example.com/app/:v1",
    "registry.example.com/-:v1",
    "registry.example.com/app:v1/x",
    "registry.example.com/app:v1?x=y",
    "user@registry.example.com/app:v1",
    `registry.example.com/app:${"x".repeat(129)}`,
    `registry.example.com/${"x".repeat(420)}:v1`,
    "",
  ])("refuses %j", (image) => {
    expect(() => parseImageName(image)).toThrow(
      expect.objectContaining({ code: "invalid_request", status: 400 }),
    );
  });

  it("refuses a first part that container engines read as a repository", () => {
    expect(() => parseImageName("team/app:v1")).toThrow("write docker.io/team/app:v1");
  });
});

describe("isAllowed", () => {
  const image = parseImageName("registry.example.com/team/app:v1");

  it.each([
    { allowed: [], expected: true },
    { allowed: ["registry.example.com"], expected: true },
    { allowed: ["registry.example.com/"], expected: true },
    { allowed: ["registry.example.com/team"], expected: true },
    { allowed: ["registry.example.com/team/app"], expected: true },
    { allowed: ["ghcr.io", "registry.example.com/team"], expected: true },
    { allowed: ["registry.example.com/tea"], expected: false },
    { allowed: ["registry.example.com/team/app/more"], expected: false },
    { allowed: ["registry.example.co"], expected: false },
    { allowed: ["example.com"], expected: false },
    { allowed: [""], expected: false },
  ])("returns $expected for $allowed", ({ allowed, expected }) => {
    expect(isAllowed(image, allowed)).toBe(expected);
  });
});

describe("isPlainHttp", () => {
  it.each(["localhost", "localhost:5000", "127.0.0.1:5000", "127.8.0.1", "[::1]:5000"])(
    "uses plain http for %s, which is this machine",
    (host) => {
      expect(isPlainHttp(host, [])).toBe(true);
    },
  );

  it.each(["localhost.example.com", "127.0.0.1.example.com", "10.0.0.1:5000", "1127.0.0.1"])(
    "uses https for %s",
    (host) => {
      expect(isPlainHttp(host, [])).toBe(false);
    },
  );

  it("uses plain http for a listed registry with exactly its port", () => {
    expect(isPlainHttp("registry.lan:5000", ["registry.lan:5000"])).toBe(true);
    expect(isPlainHttp("registry.lan:5001", ["registry.lan:5000"])).toBe(false);
  });
});

it.each(["a:99999", "::", "a:b:c", "1.2.3.4.5", "256.256.256.256", "[::1", "a[b].c"])(
  "refuses %s, which only looks like a host",
  (registry) => {
    expect(() => parseImageName(`${registry}/acme/app:v1`)).toThrow("which is not a valid host");
  },
);
