import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { readGatesFile } from "#cli/rollout/request-file.ts";
import { tempDir } from "../../support/temp-dir.ts";

function write(text: string): string {
  const file = path.join(tempDir(), "gates.yaml");
  writeFileSync(file, text);
  return file;
}

it("a file of gates is a list in YAML, with the defaults of a request", () => {
  expect(readGatesFile(write("- { kind: pause, message: look }"))).toEqual([
    { kind: "pause", message: "look", timeout_seconds: 86_400, on_timeout: "pause" },
  ]);
  expect(readGatesFile(undefined)).toBeUndefined();
});

it.each([
  ["kind: pause", "the list"],
  ["- { kind: prometheus, query: up, pass: low }", "0.pass: must be a comparison"],
  ["- [", "--gates"],
])("a file with %s is refused: %s", (text, words) => {
  expect(() => readGatesFile(write(text))).toThrow(words);
});

it("a file that is not there is refused by its name", () => {
  expect(() => readGatesFile("/nowhere/gates.yaml")).toThrow("/nowhere/gates.yaml");
});
