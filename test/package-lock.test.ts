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
  ],
  "bench/peers/package-lock.json": [
    "@msgpackr-extract/msgpackr-extract-darwin-arm64",
    "@msgpackr-extract/msgpackr-extract-darwin-x64",
    "@msgpackr-extract/msgpackr-extract-linux-arm",
    "@msgpackr-extract/msgpackr-extract-win32-x64",
  ],
  "bench/better-auth/package-lock.json": [],
  "test/clients/package-lock.json": [
    "@next/swc-darwin-arm64",
    "@next/swc-darwin-x64",
    "@next/swc-win32-arm64-msvc",
    "@next/swc-win32-x64-msvc",
  ],
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
