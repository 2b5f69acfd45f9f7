import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { createFindCredential, type UselessEntry } from "#registry/credentials.ts";
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
    { auths: "secretword" },
    { auths: { "ghcr.io": {} }, credHelpers: ["secretword"] },
    '["secretword"]',
    "secretword",
    "",
  ])("does not quote a file that it cannot read: %j", (content) => {
    const file = writeConfig(content);
    const create = () => createFindCredential({}, settings(file));

    expect(create).toThrow(/^registry\.docker_config: (?!.*secretword)/);
  });

  it("says what to give instead of a Secret of Kubernetes", () => {
    const data = { ".dockerconfigjson": encode('{"auths":{}}') };
    const file = writeConfig({ kind: "Secret", type: "kubernetes.io/dockerconfigjson", data });

    expect(() => createFindCredential({}, settings(file))).toThrow(
      "the decoded .dockerconfigjson of a Secret",
    );
  });
});

/** What is found in a file of these logins, and what of it is of no use. */
function readLogins(auths: object, more: object = {}) {
  const useless: UselessEntry[] = [];
  const file = writeConfig({ auths, ...more });
  const find = createFindCredential({}, settings(file), (one) => useless.push(one));
  return { find, useless };
}

describe("a login of Docker's configuration", () => {
  const registry = "registry.example.com";
  const password = "secret~?>word";
  const pair = `u:${password}`;
  const padded = encode(pair);

  it.each([
    ["a username and a password", { username: "u", password }],
    ["both of them beside an empty auth", { username: "u", password, auth: "" }],
    ["both of them beside a null", { username: "u", password, auth: null, identitytoken: null }],
    ["both of them beside an auth that is none", { username: "u", password, auth: "%" }],
    ["an auth beside others", { username: "x", password: "y", auth: padded }],
    ["an auth without padding", { auth: padded.replace(/=+$/, "") }],
    ["an auth of the alphabet for addresses", { auth: Buffer.from(pair).toString("base64url") }],
    ["an auth in two lines", { auth: `${padded.slice(0, 8)}\n${padded.slice(8)}\n` }],
    ["an auth of a pair with a line end", { auth: encode(`${pair}\n`) }],
    ["an auth of a pair with a null byte", { auth: encode(`${pair}\0`) }],
    ["an auth and an e-mail address", { auth: padded, email: "u@example.com" }],
  ])("may be %s", (_, login) => {
    const { find, useless } = readLogins({ [registry]: login });

    expect(find(registry)).toEqual({ user: "u", password });
    expect(useless).toEqual([]);
  });

  it("may have colons in its password", () => {
    const { find } = readLogins({ [registry]: { auth: encode("u:a:b:") } });

    expect(find(registry)).toEqual({ user: "u", password: "a:b:" });
  });

  it("may be one of .dockercfg, which has no table for them", () => {
    const file = writeConfig({ "https://index.docker.io/v1/": { auth: padded, email: "u@x.y" } });
    const find = createFindCredential({}, settings(file));

    expect(find("docker.io")).toEqual({ user: "u", password });
  });

  it("is read from a file with a byte order mark", () => {
    const file = writeConfig(
      `\ufeff${JSON.stringify({ auths: { [registry]: { auth: padded } } })}`,
    );

    expect(createFindCredential({}, settings(file))(registry)).toEqual({ user: "u", password });
  });

  it.each([
    ["nothing", {}, "neither auth nor"],
    ["null", null, "neither auth nor"],
    ["a text", "secretword", "neither auth nor"],
    ["a number as auth", { auth: 5 }, "neither auth nor"],
    ["a username alone", { username: "u" }, "neither auth nor"],
    ["a password alone", { password: "secretword" }, "neither auth nor"],
    ["an auth without a colon", { auth: encode("secretword") }, "not user:password in base64"],
    ["an auth without a user", { auth: encode(":secretword") }, "not user:password in base64"],
    ["an auth that is not encoded", { auth: "u:secretword" }, "not user:password in base64"],
  ])("is reported, without its secret, if it has %s", (_, login, reason) => {
    const { find, useless } = readLogins({ [registry]: login, "ghcr.io": { auth: padded } });

    expect(find(registry)).toBeUndefined();
    expect(find("ghcr.io")).toEqual({ user: "u", password });
    expect(useless).toEqual([
      { file: expect.any(String), entry: registry, reason: expect.stringContaining(reason) },
    ]);
    expect(JSON.stringify(useless)).not.toContain("secretword");
  });

  it.each([
    ["credsStore", { [registry]: {} }, { credsStore: "desktop" }, registry],
    ["credHelpers", { [registry]: {} }, { credHelpers: { [registry]: "desktop" } }, registry],
    ["credHelpers alone", {}, { credHelpers: { [registry]: "desktop" } }, registry],
    ["credsStore alone", undefined, { credsStore: "desktop" }, "credsStore"],
    ["credsStore beside an empty table", {}, { credsStore: "desktop" }, "credsStore"],
  ])("is reported with the helper that has it, of %s", (_, auths, more, entry) => {
    const useless: UselessEntry[] = [];
    const file = writeConfig({ ...(auths && { auths }), ...more });

    createFindCredential({}, settings(file), (one) => useless.push(one));

    expect(useless).toEqual([
      {
        file,
        entry,
        reason: expect.stringMatching(/the helper desktop.*set REGISTRY_AUTH_<HOST>/),
      },
    ]);
  });

  it("that a helper would have is used if it is in the file itself", () => {
    const { find, useless } = readLogins(
      { [registry]: { auth: padded } },
      { credsStore: "desktop", credHelpers: { [registry]: "desktop" } },
    );

    expect(find(registry)).toEqual({ user: "u", password });
    expect(useless).toEqual([]);
  });

  it.each([{}, { auths: null }, { HttpHeaders: { "User-Agent": "x" } }])(
    "is missing in %j, and that is reported",
    (content) => {
      const useless: UselessEntry[] = [];
      const file = writeConfig(content);

      createFindCredential({}, settings(file), (one) => useless.push(one));

      expect(useless).toEqual([{ file, entry: "auths", reason: expect.any(String) }]);
    },
  );
});

describe("a key of Docker's configuration", () => {
  const login = (user: string) => ({ username: user, password: "p" });
  /** The user of the login that is found; each key has its own name as that. */
  const findUser = (keys: readonly string[], registry: string, repository?: string) => {
    const { find } = readLogins(Object.fromEntries(keys.map((key) => [key, login(key)])));
    const found = find(registry, repository);
    return found !== undefined && "user" in found ? found.user : undefined;
  };

  it.each([
    ["r.example.com/team", "r.example.com", "team/app"],
    ["r.example.com/team", "r.example.com", "team"],
    ["r.example.com/team/", "r.example.com", "team/a/b"],
    ["https://r.example.com/v2/team", "r.example.com", "team/app"],
    ["https://r.example.com/v1/", "r.example.com", "team/app"],
    ["HTTP://R.example.com:5000/V2/", "r.example.com:5000", "app"],
    ["https://someone@r.example.com/", "r.example.com", "app"],
    [" r.example.com ", "r.example.com", "app"],
    ["[::1]:5000", "[::1]:5000", "app"],
    ["index.docker.io", "docker.io", "library/app"],
    ["registry-1.docker.io", "docker.io", "library/app"],
    ["docker.io/team", "docker.io", "team/app"],
    ["*.example.com", "r.example.com", "app"],
    ["*.*.example.com", "a.b.example.com", "app"],
    ["r.*.com", "r.example.com", "app"],
    ["reg*.example.com", "reg-1.example.com", "app"],
    ["123.dkr.ecr.*.amazonaws.com", "123.dkr.ecr.eu-west-1.amazonaws.com", "app"],
    ["*.example.com:5000/team", "r.example.com:5000", "team/app"],
    ["https://*.example.com/v2/", "r.example.com", "app"],
  ])("%s is for %s/%s", (key, registry, repository) => {
    expect(findUser([key], registry, repository)).toBe(key);
  });

  it.each([
    ["r.example.com/team", "r.example.com", "teams/app"],
    ["r.example.com/team", "r.example.com", "other/team"],
    ["r.example.com/team", "r.example.com", undefined],
    ["r.example.com", "r.example.com:5000", "app"],
    ["r.example.com:5000", "r.example.com", "app"],
    ["example.com", "r.example.com", "app"],
    ["*.example.com", "example.com", "app"],
    ["*.example.com", "a.b.example.com", "app"],
    ["*.example.com", "r.example.com:5000", "app"],
    ["*.example.com", "r.example.com.evil.net", "app"],
    ["*.example.com", "rxexample.com", "app"],
    ["*", "r.example.com", "app"],
    ["r.example.com", "r-example.com", "app"],
  ])("%s is not for %s/%s", (key, registry, repository) => {
    expect(findUser([key], registry, repository)).toBeUndefined();
  });

  it.each([
    ["r.io/team/app", ["r.io", "r.io/team/app", "r.io/team"], "team/app"],
    ["r.io/team", ["*.io/team/app", "r.io", "r.io/team"], "team/app"],
    ["r.io", ["*.io", "r.io", "*.io/team"], "team/app"],
    ["*.io/team", ["*.io", "*.io/team", "r*.net"], "team/app"],
    ["r*.io", ["*.io/team", "r*.io"], "team/app"],
  ])("%s comes first among %j", (first, keys, repository) => {
    expect(findUser(keys, "r.io", repository)).toBe(first);
  });

  it.each([
    "r.example.com/*",
    "*.example.com:*",
    "oci://r.example.com",
    "",
    "a b",
    "r.example.com?x",
  ])("%j is reported, because it is for no image", (key) => {
    const { useless } = readLogins({ [key]: login("u"), "ghcr.io": login("v") });

    expect(useless).toMatchObject([{ entry: key, reason: expect.stringContaining("host[:port]") }]);
  });

  it("is reported without the password that is in it", () => {
    const { useless } = readLogins({ "https://u:secretword@r.example.com/*": login("u") });

    expect(useless).toMatchObject([{ entry: "https://r.example.com/*" }]);
  });

  it("is reported if an earlier one is for the same", () => {
    const { find, useless } = readLogins({
      "docker.io": login("first"),
      "https://index.docker.io/v1/": login("second"),
    });

    expect(find("docker.io")).toEqual({ user: "first", password: "p" });
    expect(useless).toMatchObject([{ entry: "https://index.docker.io/v1/" }]);
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
