/** The lock file of a data directory: it names the program that uses the directory. */
import { randomUUID } from "node:crypto";
import {
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { invariant } from "#kernel/problem.ts";
import { identifyProcess, isAlive, isInSight, type ProcessIdentity } from "#kernel/process.ts";
import { readIdentity } from "./running.ts";

export type LockSettings = {
  /** Called once when another program has taken the lock nevertheless; absent: no notice. */
  onLost?: () => void;
  /** Called before waiting for `watchMs`. */
  onWatch?: (watchMs: number) => void;
  touchEveryMs?: number;
  /** Time to watch a lock whose holder is in another container or on another machine. */
  watchMs?: number;
  /** Aborted when the lock is no longer needed. */
  signal?: AbortSignal | undefined;
};

export class LockHeldError extends Error {
  /** True if the holder is another container or machine. */
  readonly isElsewhere: boolean;
  readonly pid: number;

  constructor({ pid }: ProcessIdentity, isElsewhere: boolean) {
    super(`locked by process ${pid}`);
    this.pid = pid;
    this.isElsewhere = isElsewhere;
  }
}

/**
 * Takes the lock and touches it regularly until the returned function is called. Throws `LockHeldError`. The
 * lock of a killed program is taken over: at once when we can see that the program is gone, otherwise when
 * the lock has not been touched for `watchMs`.
 */
export async function takeLock(lock: string, settings: LockSettings = {}): Promise<() => void> {
  const self = identifyProcess(process.pid);
  invariant(self !== undefined, "this process has an identity");
  // Each round takes the lock, removes a stale one, or throws with the holder's pid.
  while (!createLock(lock, self)) {
    const checked = contentOf(lock);
    const holder = readIdentity(lock);
    if (holder !== undefined && (await isHeld(lock, holder, settings))) {
      throw new LockHeldError(holder, !isInSight(holder));
    }
    removeStaleLock(lock, checked);
  }
  return keep(lock, settings);
}

async function isHeld(
  lock: string,
  holder: ProcessIdentity,
  { touchEveryMs = 1_000, watchMs = 10_000, onWatch, signal }: LockSettings,
): Promise<boolean> {
  if (isInSight(holder)) return isAlive(holder);
  onWatch?.(watchMs);
  const before = touchedAt(lock);
  const deadline = performance.now() + watchMs;
  while (performance.now() < deadline) {
    await delay(Math.min(touchEveryMs, watchMs), undefined, { signal });
    if (touchedAt(lock) !== before) return true;
  }
  return false;
}

/** Identifies the file and its last touch; undefined: there is no file. */
function touchedAt(lock: string): string | undefined {
  const found = statSync(lock, { throwIfNoEntry: false });
  return found && `${found.ino} ${found.mtimeMs}`;
}

/** Touches the lock regularly, as a sign for programs that cannot see this process. Returns the release. */
function keep(lock: string, { touchEveryMs = 1_000, onLost }: LockSettings): () => void {
  // The content and not the inode, which the next file may get as soon as this one is removed.
  const own = contentOf(lock);
  const touch = () => {
    const found = contentOf(lock);
    if (found === own) utimesSync(lock, new Date(), new Date());
    // Without a lock file no other program holds it; without the directory there is nothing to share.
    if (found === own || found === undefined) return;
    clearInterval(touching);
    onLost?.();
  };
  const touching = setInterval(() => unlessGone(touch), touchEveryMs).unref();
  return () => {
    clearInterval(touching);
    if (contentOf(lock) === own) rmSync(lock, { force: true });
  };
}

/** undefined: there is no lock, or its directory doesn't exist. */
function contentOf(lock: string): string | undefined {
  try {
    return readFileSync(lock, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

/** Ignores file errors: a file that is gone, or not writable for a moment, is tried again next time. */
function unlessGone(touch: () => void): void {
  try {
    touch();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
  }
}

/** Creates the lock atomically with its content, so that no other program reads a partial one. */
function createLock(lock: string, self: ProcessIdentity): boolean {
  const draft = `${lock}.${randomUUID()}.new`;
  try {
    writeFileSync(draft, JSON.stringify({ ...self, lock: randomUUID() }), { mode: 0o600 });
    return linkUnlessThere(draft, lock);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Removes the lock by renaming it first: two programs that both found it stale cannot both remove it. */
function removeStaleLock(lock: string, checked: string | undefined): void {
  const aside = `${lock}.${randomUUID()}.stale`;
  try {
    renameSync(lock, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  // Another program has replaced the stale lock by its own in the meantime: we put that lock back, unless a
  // third program was faster; then the holder of the moved lock notices that it has lost it.
  if (contentOf(aside) !== checked) linkUnlessThere(aside, lock);
  rmSync(aside, { force: true });
}

function linkUnlessThere(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** The directory with all local data of an installation, used by one program at a time. */
export type DataDir = {
  /** Absolute. */
  path: string;
  release: () => void;
};

/** Creates the directory for its owner alone, and locks it until `release`. Throws what to do if it is in use. */
export async function openDataDir(directory: string, settings?: LockSettings): Promise<DataDir> {
  const absolute = path.resolve(directory);
  try {
    mkdirSync(absolute, { recursive: true, mode: 0o700 });
    const release = await takeLock(path.join(absolute, "vedette.lock"), settings);
    return { path: absolute, release };
  } catch (error) {
    throw explain(error, absolute);
  }
}

function explain(error: unknown, directory: string): unknown {
  if (error instanceof LockHeldError) {
    const holder = `process ${error.pid}${error.isElsewhere ? " of another container or machine" : ""}`;
    return new Error(
      `data_dir ${directory} is in use by ${holder}; end it or set another data_dir`,
    );
  }
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) return error;
  return new Error(`data_dir ${directory} cannot be used (${code})`, { cause: error });
}
