import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { addRow } from "#definitions/edit/add-row.ts";
import { directoryOf } from "../../support/definitions/definition-files.ts";
import { standardRows } from "../../support/monitor/standard-definitions.ts";

const row = { id: "shop", url: "https://shop.example.com/health", frequencySeconds: 30 };

/** The text of the only file after the row was added. */
async function added(name: string, text: string, given: Record<string, unknown> = row) {
  const directory = directoryOf({ [name]: text });
  await add(directory, given);
  expect(readdirSync(directory)).toEqual([name]);
  return readFileSync(path.join(directory, name), "utf8");
}

function add(directory: string, given: Record<string, unknown> = row, file?: string) {
  const request = { directory, standard: standardRows, ...(file && { file }) };
  return addRow(request, { section: "checks", row: given });
}

const literal = '{ id: "shop", url: "https://shop.example.com/health", frequencySeconds: 30 }';
const wrap = (inner: string) => `const x: number = 1; // x\nexport default {${inner}};\n`;

it.each([
  ["an empty list", " checks: [] ", ` checks: [\n  ${literal},\n] `],
  [
    "a list of one line",
    ' checks: [{ id: "a", path: "/" }] ',
    ` checks: [{ id: "a", path: "/" }, ${literal}] `,
  ],
  [
    "a list with a comma at its end",
    '\n  checks: [\n    { id: "a", path: "/" }, // why\n  ],\n',
    `\n  checks: [\n    { id: "a", path: "/" }, // why\n    ${literal},\n  ],\n`,
  ],
  [
    "a list without one",
    '\n  checks: [\n    { id: "a", path: "/" } // why\n  ]\n',
    `\n  checks: [\n    { id: "a", path: "/" }, // why\n    ${literal},\n  ]\n`,
  ],
  [
    "a list with a comment alone",
    "\n  checks: [\n    // none, yet\n  ],\n",
    `\n  checks: [\n    // none, yet\n    ${literal},\n  ],\n`,
  ],
  ["no list", "\n  heartbeats: [],\n", `\n  heartbeats: [],\n  checks: [\n    ${literal},\n  ],\n`],
  ["nothing", "", `\n  checks: [\n    ${literal},\n  ],\n`],
  [
    "an object",
    '\n  checks: {\n    "a-b": { path: "/" },\n  },\n',
    `\n  checks: {\n    "a-b": { path: "/" },\n    shop: { url: "https://shop.example.com/health", frequencySeconds: 30 },\n  },\n`,
  ],
  [
    "tabs",
    '\n\tchecks: [\n\t\t{ id: "a", path: "/" },\n\t],\n',
    `\n\tchecks: [\n\t\t{ id: "a", path: "/" },\n\t\t${literal},\n\t],\n`,
  ],
  [
    "Windows' ends of lines",
    "\r\n  checks: [\r\n  ],\r\n",
    `\r\n  checks: [\r\n    ${literal},\r\n  ],\r\n`,
  ],
])("adds to TypeScript with %s, and changes nothing else", async (_what, before, after) => {
  expect(await added("vedette.config.ts", wrap(before))).toBe(wrap(after));
});

it("adds to a list that is a constant, with types", async () => {
  const code = (rows: string) =>
    `import { defineConfig } from "vedette/config";\nconst checks: { id: string; url: string }[] = [${rows}];\nexport default defineConfig({ checks });\n`;

  expect(await added("vedette.config.ts", code(""))).toBe(code(`\n  ${literal},\n`));
});

it("breaks a row that is too long for a line", async () => {
  const long = {
    ...row,
    name: "The shop, as customers see it",
    assertions: [{ source: "status", equals: 204 }],
  };

  const text = await added("vedette.config.mjs", "export default {\n  checks: [],\n};\n", long);

  expect(text).toContain('    {\n      id: "shop",\n');
  expect(text).toContain('      assertions: [{ source: "status", equals: 204 }],\n    },\n');
});

it.each([
  [
    "a list",
    "# mine\nchecks:\n  # first\n  - id: a\n    path: /\n",
    "# mine\nchecks:\n  # first\n  - id: a\n    path: /\n  - id: shop\n    url: https://shop.example.com/health\n    frequencySeconds: 30\n",
  ],
  [
    "a list that is not indented",
    "checks:\n- id: a\n  path: /\n",
    "checks:\n- id: a\n  path: /\n- id: shop\n  url: https://shop.example.com/health\n  frequencySeconds: 30\n",
  ],
  [
    "an object",
    "checks:\n  a:\n    path: / # why\n",
    "checks:\n  a:\n    path: / # why\n  shop:\n    url: https://shop.example.com/health\n    frequencySeconds: 30\n",
  ],
  [
    "an empty section",
    "checks: []\n",
    "checks:\n  - id: shop\n    url: https://shop.example.com/health\n    frequencySeconds: 30\n",
  ],
  [
    "no section",
    "",
    "checks:\n  - id: shop\n    url: https://shop.example.com/health\n    frequencySeconds: 30\n",
  ],
])("adds to YAML with %s, keeping its comments", async (_what, before, after) => {
  expect(await added("vedette.config.yaml", before)).toBe(after);
});

it.each([
  [
    "tables",
    '# mine\n[[checks]]\nid = "a" # why\npath = "/"\n',
    '[[checks]]\nid = "shop"\nurl = "https://shop.example.com/health"\nfrequencySeconds = 30\n',
  ],
  [
    "tables by id",
    '[checks.a]\npath = "/"\n',
    '[checks.shop]\nurl = "https://shop.example.com/health"\nfrequencySeconds = 30\n',
  ],
  [
    "no tables",
    'extends = ["standard"]\n',
    '[[checks]]\nid = "shop"\nurl = "https://shop.example.com/health"\nfrequencySeconds = 30\n',
  ],
])("appends to TOML with %s", async (_what, before, table) => {
  expect(await added("vedette.config.toml", before)).toBe(`${before}\n${table}`);
});

it.each([
  [
    "a list",
    '{\n  // mine\n  "checks": [\n    {\n      "id": "a",\n      "path": "/"\n    }\n  ]\n}\n',
    '{\n  // mine\n  "checks": [\n    {\n      "id": "a",\n      "path": "/"\n    },\n    {\n      "id": "shop",\n      "url": "https://shop.example.com/health",\n      "frequencySeconds": 30\n    }\n  ]\n}\n',
  ],
  [
    "an object",
    '{\n  "checks": {}\n}\n',
    '{\n  "checks": {\n    "shop": {\n      "url": "https://shop.example.com/health",\n      "frequencySeconds": 30\n    }\n  }\n}\n',
  ],
  [
    "no section",
    "{}\n",
    '{\n  "checks": [\n    {\n      "id": "shop",\n      "url": "https://shop.example.com/health",\n      "frequencySeconds": 30\n    }\n  ]\n}\n',
  ],
])("adds to JSON with %s, keeping its comments", async (_what, before, after) => {
  expect(await added("vedette.config.json", before)).toBe(after);
});

it.each([
  [
    "a row with faults",
    "checks: []",
    { id: "shop", url: "shop" },
    "nothing was written, since vedette.config.yaml would have faults:\nvedette.config.yaml:3:5: checks.shop.url: has to be a whole address",
  ],
  [
    "an id of the file",
    "checks: [{id: shop, path: /}]",
    row,
    "there is a row shop already: choose another with --id",
  ],
  [
    "an id of the standard set",
    "extends: [standard]",
    { ...row, id: "quota-check" },
    "there is a row quota-check already",
  ],
  ["a file with faults", "chekcs: []", row, "chekcs: is unknown"],
])("refuses %s, and leaves the file as it is", async (_what, text, given, message) => {
  const directory = directoryOf({ "vedette.config.yaml": text });

  await expect(add(directory, given)).rejects.toThrow(message);

  expect(readdirSync(directory)).toEqual(["vedette.config.yaml"]);
  expect(readFileSync(path.join(directory, "vedette.config.yaml"), "utf8")).toBe(text);
});

it.each([
  ["vedette.config.ts", "const rows = () => [];\nexport default { checks: rows() };\n"],
  [
    "vedette.config.ts",
    'const rows = [{ id: "a", path: "/" }];\nexport default { checks: rows.slice(0) };\n',
  ],
  [
    "vedette.config.ts",
    "const checks = [{ id: 'a', path: '/' }];\nconst all = { checks };\nexport default { ...all };\n",
  ],
  ["vedette.config.toml", 'checks = [{ id = "a", path = "/" }]\n'],
])("shows the row where %s is not written as data", async (name, text) => {
  const directory = directoryOf({ [name]: text });

  await expect(add(directory)).rejects.toThrow(/add it yourself:\n\{ id: "shop"/);

  expect(readFileSync(path.join(directory, name), "utf8")).toBe(text);
});

it("says what to do where there is no file", async () => {
  await expect(add(directoryOf({}))).rejects.toThrow("`vedette init` writes one");
});

it("keeps a link, and the mode of the file", async () => {
  const directory = directoryOf({ "real/rows.yaml": "checks: []\n" });
  chmodSync(path.join(directory, "real/rows.yaml"), 0o640);
  symlinkSync("real/rows.yaml", path.join(directory, "vedette.config.yaml"));

  expect(await add(directory)).toBe("vedette.config.yaml");

  const { mode } = statSync(path.join(directory, "real/rows.yaml"));
  expect(mode & 0o777).toBe(0o640);
  expect(readFileSync(path.join(directory, "real/rows.yaml"), "utf8")).toContain("id: shop");
});
