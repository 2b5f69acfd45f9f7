import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, renameSync, statSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openDataDir } from "#embedded/data-dir-lock.ts";
import { identifyProcess } from "#kernel/process.ts";
import { tempDir } from "../support/temp-dir.ts";

it("creates the directory with its parents, for the owner only", async () => {
  const directory = path.join(tempDir(), "a", "b");

  const opened = await openDataDir(directory);

  expect(opened.path).toBe(directory);
  expect(statSync(directory).mode & 0o777).toBe(0o700);
});

it("the data directory refuses a directory in use with an error that names the process", async () => {
  const directory = tempDir();
  await openDataDir(directory);

  const again = () => openDataDir(directory);

  await expect(again()).rejects.toThrow(
    `data_dir ${directory} is in use by process ${process.pid}; end it or set another data_dir`,
  );
});

it("the data directory opens a released directory again", async () => {
  const directory = tempDir();
  (await openDataDir(directory)).release();

  const again = () => openDataDir(directory);

  await expect(again()).resolves.toBeDefined();
});

it("the data directory takes over the lock of a process that is gone", async () => {
  const directory = tempDir();
  const gone = spawnSync("true").pid;
  writeFileSync(
    path.join(directory, "vedette.lock"),
    JSON.stringify({ pid: gone, startedAt: "1" }),
  );

  const open = () => openDataDir(directory);

  await expect(open()).resolves.toBeDefined();
});

it("the data directory takes over the lock of a process whose pid another process has now", async () => {
  const directory = tempDir();
  const lock = { pid: process.pid, startedAt: "1" };
  writeFileSync(path.join(directory, "vedette.lock"), JSON.stringify(lock));

  const open = () => openDataDir(directory);

  await expect(open()).resolves.toBeDefined();
});

it("the data directory takes over a lock that a crash of the machine left empty", async () => {
  const directory = tempDir();
  writeFileSync(path.join(directory, "vedette.lock"), "");

  const open = () => openDataDir(directory);

  await expect(open()).resolves.toBeDefined();
});

it("the data directory leaves nothing behind after release", async () => {
  const directory = tempDir();
  const lock = path.join(directory, "vedette.lock");
  const opened = await openDataDir(directory);
  expect(existsSync(lock)).toBe(true);

  opened.release();

  expect(existsSync(lock)).toBe(false);
});

it("the data directory says why a directory cannot be used", async () => {
  const file = path.join(tempDir(), "file");
  writeFileSync(file, "");

  const open = () => openDataDir(path.join(file, "data"));

  await expect(open()).rejects.toThrow(`data_dir ${file}/data cannot be used (ENOTDIR)`);
});

describe("a lock of another container, where pids are different", () => {
  const patience = { touchEveryMs: 20, watchMs: 1_000 };

  function lockFromElsewhere(): { directory: string; lock: string } {
    const directory = tempDir();
    const lock = path.join(directory, "vedette.lock");
    const holder = { ...identifyProcess(process.pid), pidNamespace: "pid:[1]" };
    writeFileSync(lock, JSON.stringify(holder));
    return { directory, lock };
  }

  it("is respected while its holder touches it", async () => {
    const { directory, lock } = lockFromElsewhere();
    const touching = setInterval(() => utimesSync(lock, new Date(), new Date()), 20);
    onTestFinished(() => clearInterval(touching));

    const open = () => openDataDir(directory, { ...patience, watchMs: 60_000 });

    await expect(open()).rejects.toThrow(
      `data_dir ${directory} is in use by process ${process.pid} of another container or machine; ` +
        "end it or set another data_dir",
    );
  });

  it("is taken over when it is no longer touched, after a notice about the wait", async () => {
    const { directory } = lockFromElsewhere();
    const waits: number[] = [];

    const opened = await openDataDir(directory, { ...patience, onWatch: (ms) => waits.push(ms) });

    expect(waits).toEqual([1_000]);
    opened.release();
  });
});

it("the lock is touched while it is held", async () => {
  const directory = tempDir();
  const opened = await openDataDir(directory, { touchEveryMs: 10 });
  onTestFinished(opened.release);
  const lock = path.join(directory, "vedette.lock");
  utimesSync(lock, 1, 1);

  await vi.waitFor(() => expect(statSync(lock).mtimeMs).toBeGreaterThan(1_000), 10_000);
});

it("the data directory reports that another program has taken the lock, and does not remove it", async () => {
  const directory = tempDir();
  const lost = Promise.withResolvers<void>();
  const opened = await openDataDir(directory, { touchEveryMs: 10, onLost: lost.resolve });
  const lock = path.join(directory, "vedette.lock");
  writeFileSync(`${lock}.other`, "another's");
  renameSync(`${lock}.other`, lock);

  await lost.promise;
  opened.release();

  expect(existsSync(lock)).toBe(true);
});

it("the data directory reports another program's lock even when it has the same inode", async () => {
  const directory = tempDir();
  const lost = Promise.withResolvers<void>();
  const opened = await openDataDir(directory, { touchEveryMs: 10, onLost: lost.resolve });
  const lock = path.join(directory, "vedette.lock");
  writeFileSync(lock, "another's, under the number of the one before");

  await lost.promise;
  opened.release();

  expect(existsSync(lock)).toBe(true);
});

it("the data directory leaves nothing behind where the disk is full", () => {
  const directory = tempDir();
  const module = fileURLToPath(new URL("../../src/embedded/data-dir-lock.ts", import.meta.url));
  const program = `
    const { openDataDir } = await import(${JSON.stringify(module)});
    await openDataDir(${JSON.stringify(directory)});`;
  const command = [process.execPath, "--input-type=module", "--eval", program];

  // Limits every file to zero bytes.
  const script = "trap '' XFSZ; ulimit -f 0; exec \"$@\"";
  const { status } = spawnSync("sh", ["-c", script, "sh", ...command]);

  expect(status).toBe(1);
  expect(readdirSync(directory)).toEqual([]);
});
