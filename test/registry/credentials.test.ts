import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { createFindCredential } from "#registry/credentials.ts";
import { tempDir } from "../support/temp-dir.ts";

const encode = (pair: string) => Buffer.from(pair).toString("base64");

function writeConfig(content: unknown): string {
  const file = path.join(tempDir(), "config.json");
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

const settings = (docker_config = "", allowed: string[] = []) => ({ docker_config, allowed });

describe("createFindCredential", () => {
  it("finds nothing when nothing is set", () => {
    const find = createFindCredential({}, settings());

    expect(find("ghcr.io")).toBeUndefined();
  });

  it.each([
    { registry: "ghcr.io", variable: "REGISTRY_AUTH_GHCR_IO" },
    { registry: "my-reg.example.com:5000", variable: "REGISTRY_AUTH_MY__REG_EXAMPLE_COM_5000" },
    { registry: "localhost:5000", variable: "REGISTRY_AUTH_LOCALHOST_5000" },
    { registry: "[::1]:5000", variable: "REGISTRY_AUTH____1__5000" },
    { registry: "docker.io", variable: "REGISTRY_AUTH_DOCKER_IO" },
  ])("reads $variable for $registry", ({ registry, variable }) => {
    const find = createFindCredential({ [variable]: "user:pass:word" }, settings());

    expect(find(registry)).toEqual({ user: "user", password: "pass:word" });
  });

  it("leaves out the line end after a password", () => {
    const find = createFindCredential({ REGISTRY_AUTH_GHCR_IO: "user:pass\n" }, settings());

    expect(find("ghcr.io")).toEqual({ user: "user", password: "pass" });
  });

  it.each(["secretword", ":secretword"])("refuses a variable without a user: %j", (value) => {
    const create = () => createFindCredential({ REGISTRY_AUTH_GHCR_IO: value }, settings());

    expect(create).toThrow('REGISTRY_AUTH_GHCR_IO is not "user:password"');
  });

  it("reads a file that a variable names, and takes empty variables for none", () => {
    const file = path.join(tempDir(), "auth");
    writeFileSync(file, "user:pass\n");
    const find = createFindCredential(
      {
        REGISTRY_AUTH_GHCR_IO_FILE: file,
        REGISTRY_AUTH_QUAY_IO: "",
        REGISTRY_AUTH_DOCKER_IO_FILE: "",
        // Of podman, and no registry's.
        REGISTRY_AUTH_FILE: "/nowhere/auth.json",
      },
      settings(),
    );

    expect(find("ghcr.io")).toEqual({ user: "user", password: "pass" });
    expect([find("quay.io"), find("docker.io")]).toEqual([undefined, undefined]);
  });

  it.each([
    { key: "ghcr.io", registry: "ghcr.io" },
    { key: "https://ghcr.io", registry: "ghcr.io" },
    { key: "https://reg.example.com/v2/", registry: "reg.example.com" },
    { key: "https://index.docker.io/v1/", registry: "docker.io" },
  ])("finds $registry under $key in Docker's configuration", ({ key, registry }) => {
    const find = createFindCredential(
      {},
      settings(writeConfig({ auths: { [key]: { auth: encode("u:p") } } })),
    );

    expect(find(registry)).toEqual({ user: "u", password: "p" });
  });

  it("prefers an identity token to a password", () => {
    const entry = { auth: encode("u:p"), identitytoken: "token" };
    const find = createFindCredential(
      {},
      settings(writeConfig({ auths: { "reg.example.com": entry } })),
    );

    expect(find("reg.example.com")).toEqual({ identityToken: "token" });
  });

  it("finds nothing for an entry whose secret a helper stores", () => {
    const content = { auths: { "ghcr.io": {} }, credsStore: "desktop" };
    const find = createFindCredential({}, settings(writeConfig(content)));

    expect(find("ghcr.io")).toBeUndefined();
  });

  it("prefers the environment to the file", () => {
    const file = writeConfig({ auths: { "ghcr.io": { auth: encode("file:p") } } });
    const find = createFindCredential({ REGISTRY_AUTH_GHCR_IO: "environment:p" }, settings(file));

    expect(find("ghcr.io")).toEqual({ user: "environment", password: "p" });
  });

  it("says so when the file does not exist", () => {
    expect(() => createFindCredential({}, settings("/nowhere/config.json"))).toThrow(
      "does not exist",
    );
  });

  it.each([
    '{"auths": {"ghcr.io": {"auth": "secretword"',
    { auths: { "ghcr.io": { auth: 5 }, secretword: 1 } },
    { auths: { "ghcr.io": { auth: encode("secretword") } } },
  ])("does not quote a file that it cannot read: %j", (content) => {
    const file = writeConfig(content);
    const create = () => createFindCredential({}, settings(file));

    expect(create).toThrow(/^registry\.docker_config: (?!.*secretword)/);
  });
});

describe("a variable that may be meant for more than one registry", () => {
  const environment = { REGISTRY_AUTH_REGISTRY_EXAMPLE_COM: "user:secretword" };
  const owned = "registry.example.com";
  const alike = "registry-example.com";

  it("is used for the registry with dots only", () => {
    const find = createFindCredential(environment, settings());

    expect(find(owned)).toEqual({ user: "user", password: "secretword" });
  });

  it("is not sent to another registry, and the error names the variable for that one", () => {
    const find = createFindCredential(environment, settings());

    expect(() => find(alike)).toThrow("rename it to REGISTRY_AUTH_REGISTRY__EXAMPLE_COM");
  });

  it("does not hide the variable of another registry", () => {
    const file = writeConfig({ auths: { [alike]: { auth: encode("file:p") } } });
    const find = createFindCredential(environment, settings(file));

    expect(find(alike)).toEqual({ user: "file", password: "p" });
  });

  it("is used for any of them when the settings list the allowed registries", () => {
    const find = createFindCredential(environment, settings("", [alike]));

    expect(find(alike)).toEqual({ user: "user", password: "secretword" });
  });
});
