import { chmodSync, lstatSync, mkdirSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { socketFolder } from "#embedded/restate.ts";
import { tempDir } from "../support/temp-dir.ts";

function longFolder() {
  const folder = path.join(tempDir(), "x".repeat(60), "y".repeat(60));
  mkdirSync(folder, { recursive: true });
  return { folder, note: path.join(folder, "note") };
}

function open({ folder, note }: { folder: string; note: string }): string {
  const link = socketFolder(folder, note);
  onTestFinished(() => rmSync(path.dirname(link), { recursive: true, force: true }));
  return link;
}

it("the socket folder is the folder itself where its path is short enough", () => {
  expect(socketFolder("/srv/vedette/restate/vedette", "/nowhere")).toBe(
    "/srv/vedette/restate/vedette",
  );
});

it("the socket folder is a short link in a directory of this user alone where the path is too long", () => {
  const long = longFolder();

  const link = open(long);

  expect(link.length).toBeLessThan(90);
  expect(readlinkSync(link)).toBe(long.folder);
  expect(lstatSync(path.dirname(link)).mode & 0o777).toBe(0o700);
});

it("the socket folder is the same after a kill", () => {
  const long = longFolder();

  expect(open(long)).toBe(open(long));
});

it.each([
  [
    "points elsewhere",
    (link: string) => {
      rmSync(link);
      symlinkSync("/etc", link);
    },
  ],
  ["is open to others", (link: string) => chmodSync(path.dirname(link), 0o777)],
  ["is gone", (link: string) => rmSync(link)],
])("the socket folder is a new one where the old link %s", (_what, spoil) => {
  const long = longFolder();
  const before = open(long);
  spoil(before);

  const after = open(long);

  expect(after).not.toBe(before);
  expect(readlinkSync(after)).toBe(long.folder);
});
