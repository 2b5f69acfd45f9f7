/** The directory that holds everything an installation keeps: used by one program at a time. */
import { linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { invariant } from "#kernel/invariant.ts";
import { identifyProcess, isAlive, type ProcessIdentity } from "#kernel/owned-process.ts";
import { readIdentity } from "./identity-file.ts";

export type DataDir = {
  /** Absolute. */
  path: string;
  release: () => void;
};

/**
 * Creates the directory if need be, private to its owner, and takes it until `release`. Throws one
 * clear line when another program has it; what a killed program left behind is taken over.
 */
export function openDataDir(directory: string): DataDir {
  const absolute = path.resolve(directory);
  const lock = path.join(absolute, "vedette.lock");
  try {
    mkdirSync(absolute, { recursive: true, mode: 0o700 });
    takeLock(lock);
  } catch (error) {
    throw explain(error, absolute);
  }
  return { path: absolute, release: () => rmSync(lock, { force: true }) };
}

class LockHeldError extends Error {
  readonly pid: number;

  constructor(pid: number) {
    super(`locked by process ${pid}`);
    this.pid = pid;
  }
}

function explain(error: unknown, directory: string): unknown {
  if (error instanceof LockHeldError) {
    return new Error(
      `data_dir ${directory} is in use by process ${error.pid}; end it or set another data_dir`,
    );
  }
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) return error;
  return new Error(`data_dir ${directory} cannot be used (${code})`, { cause: error });
}

function takeLock(lock: string): void {
  const self = identifyProcess(process.pid);
  invariant(self !== undefined, "this process has an identity");
  // Each round that does not take the lock has met one holder less, or ends with the holder's pid.
  while (!createLock(lock, self)) {
    const holder = readIdentity(lock);
    if (holder !== undefined && isAlive(holder)) throw new LockHeldError(holder.pid);
    removeStaleLock(lock);
  }
}

/** Puts the lock in place with its content, so that nobody ever reads half of one. */
function createLock(lock: string, self: ProcessIdentity): boolean {
  const draft = `${lock}.${self.pid}.new`;
  writeFileSync(draft, JSON.stringify(self), { mode: 0o600 });
  try {
    linkSync(draft, lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Removes the lock by moving it aside first: two programs that both found it stale cannot both win. */
function removeStaleLock(lock: string): void {
  const aside = `${lock}.${process.pid}.stale`;
  try {
    renameSync(lock, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  const moved = readIdentity(aside);
  // In between someone else has replaced the stale lock by a living one: it goes back.
  if (moved !== undefined && isAlive(moved)) linkSync(aside, lock);
  rmSync(aside, { force: true });
}
