/** What docs/tutorial.md shows is as it says; test/sweeps/package/tutorial.test.ts follows it. */
import { expect, it } from "vitest";
import { faultsOf } from "./support/definitions/definition-files.ts";
import { fileOf, readTutorial } from "./support/repository/tutorial.ts";
import { findUnsaid, stepsOf } from "./support/repository/walkthrough.ts";

const steps = readTutorial();

it("the adapter has at most 60 lines", () => {
  const lines = fileOf(steps, "fleet.mjs").trimEnd().split("\n");

  expect(lines.length).toBeLessThanOrEqual(60);
});

const definitions = steps.flatMap((step) =>
  step.kind === "write" && step.file === "vedette.config.ts" ? [step.text] : [],
);

it.each(definitions)("the definitions are valid: %s", async (text) => {
  expect(await faultsOf({ "vedette.config.ts": text })).toEqual([]);
});

it("the page has steps of each kind", () => {
  const count = (kind: string) => steps.filter((step) => step.kind === kind).length;

  expect(definitions).toHaveLength(4);
  expect(count("type")).toBeGreaterThan(15);
  expect([count("start"), count("stop")]).toEqual([5, 5]);
});

it("a page is read as steps in its order", () => {
  const page = [
    "This is `a.mjs`:\n\n```js\nrun();\n```",
    "```sh\n# terminal 1\nnode a.mjs\n```\n\n```text\nit runs\n```",
    "```sh\nfalse     # exit code 1\n```",
    "Press Ctrl-C in terminal 1.",
  ];

  expect(stepsOf(page.join("\n\n"))).toEqual([
    { kind: "write", file: "a.mjs", text: "run();\n" },
    { kind: "start", terminal: "1", text: "# terminal 1\nnode a.mjs\n", shown: ["it runs"] },
    { kind: "type", text: "false     # exit code 1\n", exitCode: 1, shown: [] },
    { kind: "stop", terminal: "1" },
  ]);
});

it.each([
  { shown: ["a  b", "c … e"], output: "x\na b\nc d e\n", unsaid: undefined },
  { shown: ["b", "a"], output: "a\nb\n", unsaid: "a" },
  { shown: ["a.c"], output: "abc\n", unsaid: "a.c" },
  { shown: ["a … c"], output: "a\nc\n", unsaid: "a … c" },
])("of $shown the output $output lacks $unsaid", ({ shown, output, unsaid }) => {
  expect(findUnsaid(shown, output)).toBe(unsaid);
});
