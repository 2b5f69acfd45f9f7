/** The rows of `control.ci_trust` in a file of settings. */
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { addTrust, listTrust, removeTrust } from "#cli/ci/trust.ts";
import { readConfig } from "#config.ts";
import { tempDir } from "../support/temp-dir.ts";

const before = `# Ours.
data_dir = "here" # a comment

[control]
public_url = "https://vedette.example.com"

[control.operators]
ada = "${"ab".repeat(32)}"
`;

let config = "";
let printed = "";

beforeEach(() => {
  config = path.join(tempDir(), "vedette.toml");
  printed = "";
  const write = (text: string | Uint8Array) => {
    printed += String(text);
    return true;
  };
  vi.spyOn(process.stdout, "write").mockImplementation(write);
  vi.spyOn(process.stderr, "write").mockImplementation(write);
});

afterEach(() => void vi.restoreAllMocks());

const shop = { repositoryId: "4711", ref: "main", workflow: "rollout.yml" };
const read = () => readConfig({ file: config, environment: {} }).control.ci_trust;
const add = (name: string, options: object = shop) =>
  addTrust(name, { config, json: false, ...options });

it("a row is added to the file, whose other lines stay", async () => {
  writeFileSync(config, before);

  await add("github:acme/shop", { ...shop, claim: ["repository_owner=acme", "sub=a=b"] });

  expect(readFileSync(config, "utf8").startsWith(before)).toBe(true);
  expect(read()).toMatchObject([
    {
      name: "github:acme/shop",
      repository_id: "4711",
      ref: "refs/heads/main",
      claims: { repository_owner: "acme", sub: "a=b" },
      roles: ["operate"],
    },
  ]);
});

it("an added row is listed, with the audience that it has by itself", async () => {
  writeFileSync(config, before);
  await add("github:acme/shop");
  printed = "";

  await listTrust({ config, json: false });

  expect(printed).toContain("github:acme/shop");
  expect(printed).toContain(" https://vedette.example.com ");
  expect(printed).toContain("refs/heads/main");
});

it("the file is as before once its rows are removed again", async () => {
  writeFileSync(config, before);
  await add("github:acme/shop");
  await add("gitlab:acme/shop", { ...shop, preset: "gitlab" });

  await removeTrust("github:acme/shop", { config, json: false });
  expect(read()).toMatchObject([{ name: "gitlab:acme/shop" }]);
  await removeTrust("gitlab:acme/shop", { config, json: false });

  expect(readFileSync(config, "utf8")).toBe(before);
});

it("a row between other tables is removed, and they stay", async () => {
  const row = '[[control.ci_trust]]\nname = "a"\nrepository_id = 1\nref = "main"\n';
  writeFileSync(
    config,
    `${before}\n${row}\n[control.ci_trust.claims]\nsub = "x"\n\n[log]\nlevel = "warn"\n`,
  );

  await removeTrust("a", { config, json: false });

  expect(readFileSync(config, "utf8")).toBe(`${before}\n[log]\nlevel = "warn"\n`);
});

it.each<[string, string, object, string]>([
  ["a second row of the name", "github:acme/shop", shop, "is another row's"],
  ["a row of any branch", "b", { repositoryId: "1" }, "any branch would count"],
  ["a name that is none", "B", shop, "must be lower case"],
])("%s is refused, and the file stays", async (_, name, options, words) => {
  writeFileSync(config, before);
  await add("github:acme/shop");
  const text = readFileSync(config, "utf8");

  await expect(add(name, options)).rejects.toThrow(words);

  expect(readFileSync(config, "utf8")).toBe(text);
});

it("a file that writes its rows in another way is not changed", async () => {
  const text = `${before.replace("[control]", '[control]\nci_trust = [{ name = "a", repository_id = 1, ref = "main" }]')}`;
  writeFileSync(config, text);

  await expect(removeTrust("a", { config, json: false })).rejects.toThrow("in another way");
  await expect(add("b")).rejects.toThrow("in another way");

  expect(readFileSync(config, "utf8")).toBe(text);
});

it("a name that there is not is refused with those that there are", async () => {
  writeFileSync(config, before);
  await add("github:acme/shop");

  await expect(removeTrust("github:acme/shpo", { config, json: false })).rejects.toThrow(
    "did you mean github:acme/shop?",
  );
});

it("the file keeps its mode, which lets the program read it", async () => {
  writeFileSync(config, before);
  chmodSync(config, 0o640);

  await add("github:acme/shop");

  expect(statSync(config).mode & 0o777).toBe(0o640);
});

it("without a file the row is printed to be written where the settings are", async () => {
  await add("github:acme/shop", { ...shop, audience: "https://vedette.example.com" });

  expect(printed).toContain('[[control.ci_trust]]\nname = "github:acme/shop"\n');
  expect(existsSync(config)).toBe(false);
});
