import { expect, it } from "vitest";
import { faultsOf, readFiles } from "../../support/definitions/definition-files.ts";

const check = (id: string) => `checks: [{id: ${id}, path: /}]\n`;

it("a file takes the rows of included files, in the order of their names, whatever their formats", async () => {
  const { set, files } = await readFiles({
    "vedette.config.yaml": `include: ["more/*"]\n${check("own")}`,
    "more/b.yaml": check("b"),
    "more/a.json": '{"checks": [{"id": "a", "path": "/"}]}',
    "more/c.mjs": 'export default { checks: [{ id: "c", path: "/" }] };',
  });

  expect(set.checks.map(({ id }) => id)).toEqual(["own", "a", "b", "c"]);
  expect(files).toEqual(["vedette.config.yaml", "more/a.json", "more/b.yaml", "more/c.mjs"]);
});

it("includes relative to the file that says so, and each file once", async () => {
  const { set } = await readFiles({
    "vedette.config.yaml": "include: [team/all.yaml, team/rows/a.yaml]",
    "team/all.yaml": 'include: ["rows/*.yaml"]',
    "team/rows/a.yaml": check("a"),
  });

  expect(set.checks.map(({ id }) => id)).toEqual(["a"]);
});

it("extends the standard rows when an included file does", async () => {
  const { set } = await readFiles({
    "vedette.config.yaml": "include: [a.yaml]\nchecks: {liveness: null}\n",
    "a.yaml": "extends: [standard]",
  });

  expect(set.checks.map(({ id }) => id)).toEqual(["verify-key", "rate-limit"]);
});

it("a file removes the row of an included file by null", async () => {
  const { set, removed } = await readFiles({
    "vedette.config.yaml": "include: [a.yaml]\nchecks: {a: null}\n",
    "a.yaml": check("a"),
  });

  expect(set.checks).toEqual([]);
  expect(removed).toEqual([{ section: "checks", key: "a" }]);
});

it("the loader refuses the same id in two included files, naming both places", async () => {
  const faults = await faultsOf({
    "vedette.config.yaml": "include: [a.yaml, b.yaml]",
    "a.yaml": check("shop"),
    "b.yaml": check("shop"),
  });

  expect(faults).toEqual(["b.yaml:1:10: checks.shop: is there twice: also at a.yaml:1:10"]);
});

it.each([
  ["a pattern that matches nothing", "[none/*.yaml]", "matches no file"],
  ["an address", '["https://example.com/a.yaml"]', "has to be files here, no address"],
  ["the file itself", '["*.yaml"]', "vedette.config.yaml includes vedette.config.yaml"],
  ["what is no text", "[1]", "has to be files"],
])("refuses %s", async (_what, include, message) => {
  const faults = await faultsOf({ "vedette.config.yaml": `include: ${include}` });

  expect(faults).toHaveLength(1);
  expect(faults[0]).toMatch(/^vedette\.config\.yaml:1:11: include\.0: /);
  expect(faults[0]).toContain(message);
});

it("the loader refuses a circle", async () => {
  const faults = await faultsOf({
    "vedette.config.yaml": "include: [a.yaml]",
    "a.yaml": "include: [vedette.config.yaml]",
  });

  expect(faults).toEqual([
    "a.yaml:1:11: include.0: makes a circle: vedette.config.yaml includes a.yaml includes vedette.config.yaml",
  ]);
});

it("the error names the mistakes of every file at once", async () => {
  const faults = await faultsOf({
    "vedette.config.yaml": "include: [a.json, b.mjs]\nchecks: 1",
    "a.json": "{",
    "b.mjs": "export default { checks: 1 };",
  });

  expect(faults.map((fault) => fault.split(":")[0])).toEqual([
    "a.json",
    "b.mjs",
    "vedette.config.yaml",
  ]);
});
