import { mkdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { LinksMissing, linkLibraries } from "#embedded/postgres-cluster.ts";
import { tempDir } from "../support/temp-dir.ts";

/** A package as it is unpacked: a library, and the list of what links to it. */
function aPackage(): string {
  const root = tempDir();
  mkdirSync(path.join(root, "native/lib"), { recursive: true });
  writeFileSync(path.join(root, "native/lib/libpq.so.5.18"), "library");
  const links = [
    { source: "native/lib/libpq.so.5.18", target: "native/lib/libpq.so" },
    { source: "native/lib/libpq.so.5.18", target: "native/lib/libpq.so.5" },
  ];
  writeFileSync(path.join(root, "native/pg-symlinks.json"), JSON.stringify(links));
  return root;
}

it("the set-up makes the links that the package's script has not made", () => {
  const root = aPackage();
  symlinkSync("libpq.so.5.18", path.join(root, "native/lib/libpq.so"));

  linkLibraries(root);

  expect(readlinkSync(path.join(root, "native/lib/libpq.so.5"))).toBe("libpq.so.5.18");
  expect(readFileSync(path.join(root, "native/lib/libpq.so.5"), "utf8")).toBe("library");
});

it("changes nothing the second time", () => {
  const root = aPackage();
  linkLibraries(root);

  expect(() => linkLibraries(root)).not.toThrow();
});

it("the set-up has nothing to do in a package without a list", () => {
  expect(() => linkLibraries(tempDir())).not.toThrow();
});

it("the set-up says what to do when a link cannot be made", () => {
  const root = aPackage();
  rmSync(path.join(root, "native/lib"), { recursive: true });

  expect(() => linkLibraries(root)).toThrow(LinksMissing);
  expect(() => linkLibraries(root)).toThrow("npm rebuild");
});
