import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { readIfThere } from "#kernel/files.ts";
import { tempDir } from "../support/temp-dir.ts";

it("returns the text of a file, and undefined when there is none", () => {
  const directory = tempDir();
  const file = path.join(directory, "file");
  writeFileSync(file, "text");

  expect(readIfThere(file)).toBe("text");
  expect(readIfThere(path.join(directory, "other"))).toBeUndefined();
  expect(readIfThere(path.join(file, "below"))).toBeUndefined();
});

it("says why an existing file cannot be read", () => {
  const directory = path.join(tempDir(), "directory");
  mkdirSync(directory);

  expect(() => readIfThere(directory)).toThrow(/directory cannot be read \(EISDIR\)$/);
});
