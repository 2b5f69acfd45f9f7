/** The directory that holds everything an installation keeps: used by one program at a time. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { identifyProcess, isAlive, type ProcessIdentity } from "#kernel/owned-process.ts";

export type DataDir = { path: string; release: () => void };

/** Creates the directory if need be and takes it. Throws one clear line when another program has it. */
export function openDataDir(directory: string): DataDir {
  const absolute = path.resolve(directory);
  createDirectory(absolute);
  const lock = path.join(absolute, "vedette.lock");
  takeLock(lock, absolute);
  return { path: absolute, release: () => rmSync(lock, { force: true }) };
}

function createDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`data_dir ${directory} cannot be created (${code})`, { cause: error });
  }
}

function takeLock(lock: string, directory: string): void {
  const self = identifyProcess(process.pid);
  // Twice: the first try may find the lock of a program that was killed.
  for (const _ of [1, 2]) {
    try {
      writeFileSync(lock, JSON.stringify(self), { flag: "wx", mode: 0o600 });
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const holder = readHolder(lock);
    if (holder !== undefined && isAlive(holder)) {
      throw new Error(
        `data_dir ${directory} is in use by process ${holder.pid}; end it or set another data_dir`,
      );
    }
    rmSync(lock, { force: true });
  }
  throw new Error(`data_dir ${directory} is being taken by another program at this moment`);
}

const Holder = z.object({ pid: z.int().positive(), startedAt: z.string() });

function readHolder(lock: string): ProcessIdentity | undefined {
  try {
    return Holder.parse(JSON.parse(readFileSync(lock, "utf8")));
  } catch {
    return undefined;
  }
}
