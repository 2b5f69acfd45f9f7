import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { addRow } from "#definitions/edit/add-row.ts";
import { directoryOf } from "../../../support/definitions/definition-files.ts";
import { standardRows } from "../../../support/monitor/standard-definitions.ts";

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

async function pasted(name: string, text: string, given: Record<string, unknown> = row) {
  const directory = directoryOf({ [name]: text });
  const { paste } = await add(directory, given);
  expect(readFileSync(path.join(directory, name), "utf8")).toBe(text);
  expect(readdirSync(directory)).toEqual([name]);
  return paste;
}

const literal = '{ id: "shop", url: "https://shop.example.com/health", frequencySeconds: 30 }';

it.each([
  ["a list", "checks: []", { into: "checks", text: `${literal},` }],
  [
    "an object",
    "checks: { 'a-b': { path: '/' } }",
    {
      into: "checks",
      text: 'shop: { url: "https://shop.example.com/health", frequencySeconds: 30 },',
    },
  ],
  ["no rows", "", { into: "the top level", text: `checks: [${literal}],` }],
])("returns the row to paste into TypeScript with %s", async (_what, rows, paste) => {
  const text = `const x: number = 1; // x\nexport default { ${rows} };\n`;

  expect(await pasted("vedette.config.ts", text)).toEqual(paste);
});

it("returns a row that is too long for a line in lines", async () => {
  const long = {
    ...row,
    name: "The shop, as customers see it",
    assertions: [{ source: "status", equals: 204 }],
  };

  const paste = await pasted("vedette.config.mjs", "export default { checks: [] };\n", long);

  expect(paste?.text).toBe(
    [
      "{",
      '  id: "shop",',
      '  url: "https://shop.example.com/health",',
      "  frequencySeconds: 30,",
      '  name: "The shop, as customers see it",',
      '  assertions: [{ source: "status", equals: 204 }],',
      "},",
    ].join("\n"),
  );
});

it("returns a row of JSON with comments, which would be lost", async () => {
  expect(await pasted("vedette.config.json", '{ "checks": {} /* mine */ }')).toEqual({
    into: "checks",
    text: '"shop": {\n  "url": "https://shop.example.com/health",\n  "frequencySeconds": 30\n},',
  });
});

it("returns the row of YAML whose section is an alias", async () => {
  const text = "heartbeats: &a []\nchecks: *a\n";

  expect(await pasted("vedette.config.yaml", text)).toEqual({
    into: "checks",
    text: `${literal},`,
  });
});

it("refuses a row for TypeScript that would be a mistake there", async () => {
  const text = "export default { checks: [] };\n";
  const directory = directoryOf({ "vedette.config.ts": text });

  await expect(add(directory, { ...row, channels: ["x"] })).rejects.toThrow(
    "nothing was written, since vedette.config.ts would have faults:\nvedette.config.ts: checks.shop.channels.0: there is no such channel",
  );
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
    "a list",
    '{\n  "$schema": "./x.json",\n  "checks": [\n    {\n      "id": "a",\n      "path": "/"\n    }\n  ]\n}\n',
    '{\n  "$schema": "./x.json",\n  "checks": [\n    {\n      "id": "a",\n      "path": "/"\n    },\n    {\n      "id": "shop",\n      "url": "https://shop.example.com/health",\n      "frequencySeconds": 30\n    }\n  ]\n}\n',
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
])("adds to JSON with %s, which stays JSON", async (_what, before, after) => {
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

it("says what to do where there is no file", async () => {
  await expect(add(directoryOf({}))).rejects.toThrow("`vedette init` writes one");
});

it("keeps a link, and the mode of the file", async () => {
  const directory = directoryOf({ "real/rows.yaml": "checks: []\n" });
  chmodSync(path.join(directory, "real/rows.yaml"), 0o640);
  symlinkSync("real/rows.yaml", path.join(directory, "vedette.config.yaml"));

  expect(await add(directory)).toEqual({ file: "vedette.config.yaml" });

  const { mode } = statSync(path.join(directory, "real/rows.yaml"));
  expect(mode & 0o777).toBe(0o640);
  expect(readFileSync(path.join(directory, "real/rows.yaml"), "utf8")).toContain("id: shop");
});

it("writes nothing through a link that has the name of its draft", async () => {
  const directory = directoryOf({ "vedette.config.yaml": "checks: []\n", users: "of the user" });
  const users = path.join(directory, "users");
  symlinkSync(users, path.join(directory, `.vedette.config.${process.pid}.yaml`));

  await expect(add(directory)).rejects.toThrow(/EEXIST/);
  expect(readFileSync(users, "utf8")).toBe("of the user");
});
