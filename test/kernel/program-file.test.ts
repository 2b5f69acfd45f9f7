import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { programFile } from "#kernel/process.ts";

it("finds a program of ours in the repository", () => {
  const file = programFile("#sentinel/main.ts");

  expect(file).toMatch(/\/src\/sentinel\/main\.ts$/);
  expect(existsSync(file)).toBe(true);
});

it("throws for one that there is not", () => {
  expect(() => programFile("#sentinel/none.ts")).toThrow("sentinel/none");
});
