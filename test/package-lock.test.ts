/** What `npm ci` checks of the packages that it installs, here and in the folders with packages of their own. */
import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

type Locked = { integrity?: string; link?: boolean; optional?: boolean };

/**
 * Parts for other platforms than those that the lock was made on, whose registry did not have them: there
 * is nothing to take their sums from. One that can be had leaves this list, and none joins it.
 */
const without: Record<string, string[]> = {
  "package-lock.json": [
    "@chdb/lib-darwin-arm64",
    "@chdb/lib-darwin-x64",
    "@chdb/lib-linux-arm64-gnu",
  ],
  "bench/peers/package-lock.json": [],
  "bench/better-auth/package-lock.json": [],
  "test/clients/package-lock.json": [],
};

const nameOf = (place: string) => place.replace(/^.*node_modules\//, "");

function packagesOf(file: string): [string, Locked][] {
  const lock = JSON.parse(readFileSync(file, "utf8")) as { packages: Record<string, Locked> };
  return Object.entries(lock.packages).filter(([place, { link }]) => place !== "" && !link);
}

it("every folder with packages of its own is looked at", () => {
  const files = globSync("{*,*/*,*/*/*}", { exclude: ["node_modules", "**/node_modules"] });

  expect(files.filter((file) => file.endsWith("package-lock.json")).toSorted()).toEqual(
    Object.keys(without).toSorted(),
  );
});

it.each(Object.entries(without))(
  "%s pins the content of each package, but of some optional parts for other platforms",
  (file, names) => {
    const unpinned = packagesOf(file).filter(([, { integrity }]) => integrity === undefined);

    expect(unpinned.map(([place]) => nameOf(place)).toSorted()).toEqual(names.toSorted());
    expect(unpinned.filter(([, { optional }]) => !optional)).toEqual([]);
  },
);

it.each(Object.keys(without))("%s pins it by a hash that nobody can forge", (file) => {
  const weak = packagesOf(file).filter(
    ([, { integrity }]) => !/^sha512-/.test(integrity ?? "sha512-"),
  );

  expect(weak.map(([place]) => nameOf(place))).toEqual([]);
});
