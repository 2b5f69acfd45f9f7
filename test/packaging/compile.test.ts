import { expect, it } from "vitest";
import { relativeImports } from "../../packaging/compile.ts";

it.each([
  ['import { a } from "#kernel/a.ts";', 'import { a } from "../kernel/a.ts";'],
  ['import type { A } from "#rollout/b.ts";', 'import type { A } from "./b.ts";'],
  ['export { a } from "#config.ts";', 'export { a } from "../config.ts";'],
  ['await import("#rollout/rules/c.ts")', 'await import("./rules/c.ts")'],
  ['import "#kernel/a.ts";', 'import "../kernel/a.ts";'],
  ['import { b } from "./b.ts";', 'import { b } from "./b.ts";'],
  ['const channel = "#alerts";', 'const channel = "#alerts";'],
  ['programFile("#sentinel/main.ts")', 'programFile("#sentinel/main.ts")'],
])("%s in src/rollout is %s", (text, expected) => {
  expect(relativeImports(text, "rollout/x.ts")).toBe(expected);
});
