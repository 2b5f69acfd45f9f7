import { copyFileSync, existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { putPackageManifest, restoreManifest } from "../../packaging/swap.ts";
import { tempDir } from "../support/temp-dir.ts";

function aCheckout() {
  const root = tempDir();
  copyFileSync("package.json", path.join(root, "package.json"));
  return { root, read: () => readFileSync(path.join(root, "package.json"), "utf8") };
}

it("package.json is that of the package for a time, and then exactly what it was", () => {
  const { root, read } = aCheckout();
  const before = read();

  putPackageManifest(root);
  const meanwhile = JSON.parse(read());
  restoreManifest(root);

  expect(meanwhile).toHaveProperty("exports");
  expect(read()).toBe(before);
  expect(existsSync(path.join(root, "package.source.json"))).toBe(false);
});

it("one that an interrupted pack has left is no obstacle for the next", () => {
  const { root, read } = aCheckout();
  const before = read();
  putPackageManifest(root);

  putPackageManifest(root);
  restoreManifest(root);

  expect(read()).toBe(before);
});

it("restores nothing where nothing was put", () => {
  const { root, read } = aCheckout();
  const before = read();

  restoreManifest(root);

  expect(read()).toBe(before);
});
