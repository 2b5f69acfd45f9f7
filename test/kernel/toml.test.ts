import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { readToml } from "#kernel/documents.ts";
import { tempDir } from "../support/temp-dir.ts";

function write(text: string): string {
  const file = path.join(tempDir(), "settings.toml");
  writeFileSync(file, text);
  return file;
}

it("reads tables and values", () => {
  expect(readToml(write("[log]\nlevel = 'info'\n"))).toEqual({ log: { level: "info" } });
});

it.each([
  ["[log]\nlevel = loud\n", "line 2, column 9: invalid value"],
  ["[log]\n\n[log\n", "line 3, column 5: illegal character in key"],
  ["a = 1\r\na = 2\r\n", "line 2, column 1: trying to redefine an already defined table or value"],
])("says where %j is wrong", (text, words) => {
  const file = write(text);

  expect(() => readToml(file)).toThrow(new Error(`${file}, ${words}`));
});

it("quotes nothing of the file, not even in the cause of the error", () => {
  const file = write('token = "hunter2"\nroot_key = hunter2\n');

  try {
    readToml(file);
    expect.unreachable();
  } catch (error) {
    expect((error as Error).message).toContain("line 2");
    expect(`${(error as Error).message} ${(error as Error).cause}`).not.toContain("hunter2");
  }
});

it.each([
  ["a list", `a = ${"[".repeat(100_000)}${"]".repeat(100_000)}`],
  ["tables in a line", `a = ${"{a=".repeat(100_000)}1${"}".repeat(100_000)}`],
  ["a key of many names", `${"a.".repeat(100_000)}a = 1`],
  ["a table of many names", `[${"a.".repeat(100_000)}a]`],
  ["a list of some hundred", `a = ${"[".repeat(300)}${"]".repeat(300)}`],
])("refuses what is nested too deep with the file's name: %s", (_what, text) => {
  const file = write(text);

  expect(() => readToml(file)).toThrow(new RegExp(`^${file}.*nested`));
});
