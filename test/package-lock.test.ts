/** What `npm ci` checks of the packages that it installs. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

type Locked = { integrity?: string; link?: boolean; optional?: boolean };

const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
  packages: Record<string, Locked>;
};

/**
 * Parts for other platforms than those that the lock was made on, whose registry did not have them: there
 * is nothing to take their sums from. One that can be had leaves this list, and none joins it.
 */
const without = [
  "@biomejs/cli-android-arm64",
  "@biomejs/cli-android-x64",
  "@biomejs/cli-darwin-arm64",
  "@biomejs/cli-darwin-x64",
  "@biomejs/cli-linux-arm64-musl",
  "@biomejs/cli-linux-x64-musl",
  "@biomejs/cli-win32-arm64",
  "@biomejs/cli-win32-x64",
  "@chdb/lib-darwin-arm64",
  "@chdb/lib-darwin-x64",
  "@chdb/lib-linux-arm64-gnu",
  "@msgpackr-extract/msgpackr-extract-darwin-arm64",
  "@msgpackr-extract/msgpackr-extract-darwin-x64",
  "@msgpackr-extract/msgpackr-extract-linux-arm",
  "@msgpackr-extract/msgpackr-extract-win32-x64",
  "@next/swc-darwin-arm64",
  "@next/swc-darwin-x64",
  "@next/swc-win32-arm64-msvc",
  "@next/swc-win32-x64-msvc",
  "@oxc-parser/binding-android-arm-eabi",
  "@oxc-parser/binding-android-arm64",
  "@oxc-parser/binding-darwin-arm64",
  "@oxc-parser/binding-darwin-x64",
  "@oxc-parser/binding-freebsd-x64",
  "@oxc-parser/binding-linux-arm-gnueabihf",
  "@oxc-parser/binding-linux-arm-musleabihf",
  "@oxc-parser/binding-linux-ppc64-gnu",
  "@oxc-parser/binding-linux-riscv64-gnu",
  "@oxc-parser/binding-linux-riscv64-musl",
  "@oxc-parser/binding-linux-s390x-gnu",
  "@oxc-parser/binding-openharmony-arm64",
  "@oxc-parser/binding-win32-arm64-msvc",
  "@oxc-parser/binding-win32-ia32-msvc",
  "@oxc-parser/binding-win32-x64-msvc",
];

const nameOf = (place: string) => place.replace(/^.*node_modules\//, "");
const packages = Object.entries(lock.packages).filter(([place, { link }]) => place !== "" && !link);

it("pins the content of each package, but of some optional parts for other platforms", () => {
  const unpinned = packages.filter(([, { integrity }]) => integrity === undefined);

  expect(unpinned.map(([place]) => nameOf(place)).toSorted()).toEqual(without.toSorted());
  expect(unpinned.filter(([, { optional }]) => !optional)).toEqual([]);
});

it("pins it by a hash that nobody can forge", () => {
  const weak = packages.filter(([, { integrity }]) => !/^sha512-/.test(integrity ?? "sha512-"));

  expect(weak.map(([place]) => nameOf(place))).toEqual([]);
});
