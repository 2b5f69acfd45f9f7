/** The place of a mistake, in each format. */
import { expect, it } from "vitest";
import { faultsOf, readFiles } from "../../../../support/definitions/definition-files.ts";

it.each([
  [
    "vedette.config.json",
    '{\n  // why\n  "checks": [\n    {"id": "a", "path": "/", "body": 1},\n  ]\n}',
    "4:30",
  ],
  ["vedette.config.yaml", "checks:\n  # why\n  - id: a\n    path: /\n    body: 1\n", "5:5"],
  ["vedette.config.yml", "rows: &rows\n  - {id: a, path: /, body: 1}\nchecks: *rows\n", "2:22"],
  [
    "vedette.config.mjs",
    'export default {\n  checks: [{ id: "a", path: "/", body: 1 }],\n};\n',
    "2:34",
  ],
])("%s: the line and column of a field", async (name, text, place) => {
  const faults = await faultsOf({ [name]: text });

  expect(faults).toContain(`${name}:${place}: checks.a.body: expected an object, got a number`);
});

it.each([
  [
    "vedette.config.json",
    '{\n  "a" 1\n}',
    "2:7: is not valid JSON: Missing , or : between flow map items",
  ],
  [
    "vedette.config.json",
    '{"checks": {"a": null,\n "a": null}}',
    "2:2: is not valid JSON: Map keys must be unique",
  ],
  [
    "vedette.config.yaml",
    "checks:\n  a: null\n  a: null\n",
    "3:3: is not valid YAML: Map keys must be unique",
  ],
  ["vedette.config.yaml", "checks: [\n", "2:1: is not valid YAML"],
])("%s: where it is not well-formed", async (name, text, fault) => {
  const faults = await faultsOf({ [name]: text });

  expect(faults[0]).toContain(`${name}:${fault}`);
  expect(faults.join("\n")).not.toContain("secret");
});

it.each([
  ["vedette.config.yaml", 'checks: []\n"secret" "secret"\n'],
  ["vedette.config.yaml", "checks: |secret\n"],
  ["vedette.config.yaml", "checks: *secret\n"],
  ["vedette.config.json", '{"checks": [secret]}'],
  ["vedette.config.ts", 'export default { checks: [1 "secret"] };'],
  ["vedette.config.mjs", 'export default { checks: [1 "secret"] };'],
])("%s: what is not well-formed is not quoted", async (name, text) => {
  const faults = await faultsOf({ [name]: text });

  expect(faults.length).toBeGreaterThan(0);
  expect(faults.join("\n")).not.toContain("secret");
});

it("refuses YAML whose aliases multiply without end", async () => {
  const lines = ["a: &a [1,1,1,1,1,1,1,1,1]"];
  for (const [from, to] of ["ab", "bc", "cd", "de", "ef", "fg"].map((pair) => pair.split(""))) {
    lines.push(`${to}: &${to} [${Array(9).fill(`*${from}`).join()}]`);
  }

  const faults = await faultsOf({ "vedette.config.yaml": lines.join("\n") });

  expect(faults[0]).toContain("Excessive alias count");
});

it("merges YAML anchors, so that rows share what they have in common", async () => {
  const { set } = await readFiles({
    "vedette.config.yaml":
      "checks:\n  - &a {id: a, path: /, frequencySeconds: 30}\n  - {<<: *a, id: b}\n",
  });

  expect(set.checks.map(({ id, frequencySeconds }) => [id, frequencySeconds])).toEqual([
    ["a", 30],
    ["b", 30],
  ]);
});

it("takes a byte order mark, `$schema` and an empty file", async () => {
  const marked = '\ufeff{"$schema": "./x.json", "checks": []}';

  expect((await readFiles({ "vedette.config.json": marked })).set.checks).toEqual([]);
  expect((await readFiles({ "vedette.config.yaml": "" })).set.checks).toEqual([]);
});

const deep = "[".repeat(100_000) + "]".repeat(100_000);

it.each([
  ["checks.json", deep],
  ["checks.json", `{"checks":[{"id":"a","path":"/","body":{"a":${deep}}}]}`],
  ["checks.json", `{"include":${deep}}`],
  ["checks.json", "[".repeat(100_000)],
  ["checks.yaml", `checks: ${deep}`],
  ["checks.yaml", "- ".repeat(100_000)],
  ["checks.yaml", "? ".repeat(1_000)],
])(
  "refuses what is nested too deep with the name of the included file (%s, %#)",
  async (name, text) => {
    const faults = await faultsOf({ "vedette.config.yaml": `include: [${name}]`, [name]: text });

    expect(faults).toEqual([`${name}: is nested deeper than 100`]);
  },
);

it("shows no control characters of a file", async () => {
  const faults = await faultsOf({ "vedette.config.yaml": '"\\e]0;title\\a": 1' });

  expect(faults.join()).not.toMatch(/\p{Cc}/u);
});
