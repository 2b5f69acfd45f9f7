import { spawnSync } from "node:child_process";
import { existsSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { openDataDir } from "#embedded/data-dir.ts";
import { tempDir } from "../support/temp-dir.ts";

it("creates the directory with its parents, for the owner only", () => {
  const directory = path.join(tempDir(), "a", "b");

  const opened = openDataDir(directory);

  expect(opened.path).toBe(directory);
  expect(statSync(directory).mode & 0o777).toBe(0o700);
});

it("refuses a directory in use with one line that names the process", () => {
  const directory = tempDir();
  openDataDir(directory);

  const again = () => openDataDir(directory);

  expect(again).toThrow(
    `data_dir ${directory} is in use by process ${process.pid}; end it or set another data_dir`,
  );
});

it("opens a released directory again", () => {
  const directory = tempDir();
  openDataDir(directory).release();

  const again = () => openDataDir(directory);

  expect(again).not.toThrow();
});

it("takes over the lock of a process that is gone", () => {
  const directory = tempDir();
  const gone = spawnSync("true").pid;
  writeFileSync(
    path.join(directory, "vedette.lock"),
    JSON.stringify({ pid: gone, startedAt: "1" }),
  );

  const open = () => openDataDir(directory);

  expect(open).not.toThrow();
});

it("takes over the lock of a process whose pid is another's now", () => {
  const directory = tempDir();
  const lock = { pid: process.pid, startedAt: "1" };
  writeFileSync(path.join(directory, "vedette.lock"), JSON.stringify(lock));

  const open = () => openDataDir(directory);

  expect(open).not.toThrow();
});

it("takes over a lock that a crash of the machine left empty", () => {
  const directory = tempDir();
  writeFileSync(path.join(directory, "vedette.lock"), "");

  const open = () => openDataDir(directory);

  expect(open).not.toThrow();
});

it("leaves nothing behind after release", () => {
  const directory = tempDir();
  const lock = path.join(directory, "vedette.lock");
  const opened = openDataDir(directory);
  expect(existsSync(lock)).toBe(true);

  opened.release();

  expect(existsSync(lock)).toBe(false);
});

it("says in one line why a directory cannot be used", () => {
  const file = path.join(tempDir(), "file");
  writeFileSync(file, "");

  const open = () => openDataDir(path.join(file, "data"));

  expect(open).toThrow(`data_dir ${file}/data cannot be used (ENOTDIR)`);
});
