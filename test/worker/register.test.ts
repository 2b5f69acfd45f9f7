import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { hashCode } from "#worker/register.ts";
import { tempDir } from "../support/temp-dir.ts";

function codeOf(files: Record<string, string>): string {
  const root = tempDir();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  }
  return `${root}/`;
}

const compiled = { "a/b.js": "1", "a/b.d.ts": "number" };

it("a revision changes with the code that runs, and not with its types", () => {
  const revision = hashCode(codeOf(compiled), ".js");

  expect(hashCode(codeOf({ ...compiled, "a/b.js": "2" }), ".js")).not.toBe(revision);
  expect(hashCode(codeOf({ ...compiled, "a/b.d.ts": "string" }), ".js")).toBe(revision);
});

it("a revision changes when a file has another name", () => {
  expect(hashCode(codeOf({ "a.ts": "1" }), ".ts")).not.toBe(
    hashCode(codeOf({ "b.ts": "1" }), ".ts"),
  );
});
