import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { type Role, roles } from "#app/base.ts";
import { refuseSettings } from "#app/refusals.ts";
import { readConfig } from "#config.ts";
import { generateIdentityKey, publicIdentityOf } from "#kernel/crypto.ts";
import { tempDir } from "../support/temp-dir.ts";

/** The lines of the refusal; empty when the start is allowed. */
function linesOf(environment: Record<string, string>, as: readonly Role[] = roles): string[] {
  try {
    refuseSettings(readConfig({ environment }), as);
    return [];
  } catch (error) {
    return (error as Error).message.split("\n");
  }
}

const encryptionKey = (bytes: Buffer) => `2026:${bytes.toString("base64")}`;

describe("secrets", () => {
  it.each([
    ["INGRESS_TOKEN", "s3cret!", "control.ingress_token: has fewer than 8 characters"],
    ["INGRESS_TOKEN", "aaaaaaaabbbb", "control.ingress_token: has fewer than 4 different"],
    ["VEDETTE_ROOT_KEY", "r00t", "api.root_key: has fewer than 8 characters"],
    ["VEDETTE_ROOT_KEY", "1212121212", "api.root_key: has fewer than 4 different characters"],
    [
      "VEDETTE_API__ENCRYPTION_KEYS",
      `1:${"u7Jx".repeat(10)}uw=,${encryptionKey(Buffer.alloc(32))}`,
      "api.encryption_keys, number 2: has fewer than 4 different characters",
    ],
  ])("%s as weak as %s is refused without quoting its value", (name, value, line) => {
    const lines = linesOf({ [name]: value });

    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(line);
    expect(lines[0]).not.toContain(value);
  });

  it.each([
    ["INGRESS_TOKEN", ""],
    ["INGRESS_TOKEN", "test-token"],
    ["INGRESS_TOKEN", "12345678"],
    ["VEDETTE_ROOT_KEY", "root-key"],
    ["VEDETTE_API__ENCRYPTION_KEYS", encryptionKey(Buffer.from("0123456789abcdef".repeat(2)))],
  ])("%s may be %j", (name, value) => {
    expect(linesOf({ [name]: value })).toEqual([]);
  });

  it("are refused all together", () => {
    const lines = linesOf({ INGRESS_TOKEN: "short", VEDETTE_ROOT_KEY: "root" });

    expect(lines).toHaveLength(2);
  });
});

describe("the worker of an external Restate", () => {
  const external = {
    VEDETTE_RESTATE__INGRESS_URL: "http://restate:8080",
    VEDETTE_RESTATE__ADMIN_URL: "http://restate:9070",
  };
  const everywhere = { ...external, VEDETTE_WORKER__HOST: "0.0.0.0" };
  const identity = publicIdentityOf(generateIdentityKey());

  it.each(["0.0.0.0", "::", "10.0.0.7", "worker.internal"])(
    "is refused at %s without a key of Restate's",
    (host) => {
      const lines = linesOf({ ...external, VEDETTE_WORKER__HOST: host });

      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(/restate\.identity_keys.*worker\.allow_unsigned/);
      expect(lines[0]).toContain(host);
    },
  );

  it.each([
    ["at loopback", external],
    ["at another address of loopback", { ...external, VEDETTE_WORKER__HOST: "127.0.0.2" }],
    ["at loopback by IPv6", { ...external, VEDETTE_WORKER__HOST: "::1" }],
    ["with a key", { ...everywhere, VEDETTE_RESTATE__IDENTITY_KEYS: identity }],
    ["where the operator says so", { ...everywhere, VEDETTE_WORKER__ALLOW_UNSIGNED: "true" }],
    ["of the embedded one, which signs", { VEDETTE_WORKER__HOST: "0.0.0.0" }],
  ])("may start %s", (_, environment) => {
    expect(linesOf(environment)).toEqual([]);
  });

  it("is not required of a process without a worker", () => {
    expect(linesOf(everywhere, ["control", "api"])).toEqual([]);
  });

  it("may start with a key in a file", () => {
    const file = path.join(tempDir(), "public.key");
    writeFileSync(file, `${identity}\n`);

    expect(linesOf({ ...everywhere, VEDETTE_RESTATE__IDENTITY_KEY_FILE: file })).toEqual([]);
  });

  it("is refused with a file that is absent, or has no key", () => {
    const dir = tempDir();
    const empty = path.join(dir, "public.key");
    writeFileSync(empty, "");
    const lineOf = (file: string) =>
      linesOf({ ...everywhere, VEDETTE_RESTATE__IDENTITY_KEY_FILE: file }).join();

    expect(lineOf(path.join(dir, "none"))).toContain("cannot be read (ENOENT)");
    expect(lineOf(empty)).toContain("is not a public key of Restate");
  });
});

describe("evidence of CI", () => {
  const sigstore = "VEDETTE_CI__SIGSTORE__";
  const commit = {
    VEDETTE_CI__COMMIT__REPOSITORIES: "https://github.com/acme/gateway",
    VEDETTE_CI__COMMIT__REQUIRED: "build",
  };
  const signer = {
    [`${sigstore}IDENTITIES__RELEASE__ISSUER`]: "https://token.actions.githubusercontent.com",
    [`${sigstore}IDENTITIES__RELEASE__SUBJECT`]: "https://github.com/acme/gateway/*",
  };

  it.each([
    ["commit", {}, "commit needs ci.commit.repositories"],
    [
      "commit",
      { VEDETTE_CI__COMMIT__REPOSITORIES: "https://github.com/acme/gateway" },
      "commit needs ci.commit.required",
    ],
    [
      "commit",
      { ...commit, VEDETTE_CI__COMMIT__REPOSITORIES: "https://git.example.com/acme/gateway" },
      "ci.commit.api_url, https://api.github.com, is not that of https://git.example.com/acme/gateway",
    ],
    [
      "commit",
      {
        ...commit,
        VEDETTE_CI__COMMIT__API_URL: "http://api.github.com",
        VEDETTE_CI__COMMIT__TOKEN: "a-token",
      },
      "ci.commit.api_url has to be https",
    ],
    ["label", {}, "label needs ci.labels"],
    ["signature", {}, "signature needs ci.sigstore.identities or ci.sigstore.public_keys"],
    ["provenance", signer, "provenance needs ci.sigstore.builders"],
    [
      "label",
      { VEDETTE_CI__LABELS: "a=b", VEDETTE_ROLLOUT__REQUIRE_IMAGE_IN_REGISTRY: "false" },
      "rollout.require_image_in_registry must not be false",
    ],
  ])("of the kind %s is refused where no image could have it: %j", (kind, environment, words) => {
    const [line, ...others] = linesOf({ VEDETTE_ROLLOUT__REQUIRE_CI: kind, ...environment });

    expect(line).toContain(words);
    expect(others).toEqual([]);
  });

  it.each(["none", "", "signature"])("may be %j", (kind) => {
    expect(linesOf({ VEDETTE_ROLLOUT__REQUIRE_CI: kind, ...signer })).toEqual([]);
  });

  it("is asked of the worker alone", () => {
    expect(linesOf({ VEDETTE_ROLLOUT__REQUIRE_CI: "commit" }, ["api", "control"])).toEqual([]);
  });
});
