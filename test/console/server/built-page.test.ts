import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { readBuiltPage } from "#console/server/console.ts";
import { tempDir } from "../../support/temp-dir.ts";

function read(script: string) {
  const dir = tempDir();
  writeFileSync(path.join(dir, "index.html"), `<html><head><script src="${script}">`);
  return readBuiltPage(dir);
}

it("says in the page which build it is, which is another one with other files", () => {
  const page = read("main-1.js");
  const other = read("main-2.js");

  expect(page.html).toContain(`<head>\n    <meta name="build" content="${page.build}" />`);
  expect(read("main-1.js").build).toBe(page.build);
  expect(other.build).not.toBe(page.build);
});
