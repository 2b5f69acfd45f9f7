/** The file that says which program has a data directory. */
import { randomUUID } from "node:crypto";
import {
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { invariant } from "#kernel/invariant.ts";
import {
  identifyProcess,
  isAlive,
  isInSight,
  type ProcessIdentity,
} from "#kernel/owned-process.ts";
import { readIdentity } from "./identity-file.ts";

export type LockSettings = {
  /** Called once when another program has the lock all the same; absent: it is not looked after. */
  onLost?: () => void;
  /** Called before a wait of `watchMs`. */
  onWatch?: (watchMs: number) => void;
  touchEveryMs?: number;
  /** How long a lock is watched whose holder cannot be seen from here. */
  watchMs?: number;
  /** Aborted when the lock is no longer wanted. */
  signal?: AbortSignal | undefined;
};

export class LockHeldError extends Error {
  /** Of another container or machine. */
  readonly isElsewhere: boolean;
  readonly pid: number;

  constructor({ pid }: ProcessIdentity, isElsewhere: boolean) {
    super(`locked by process ${pid}`);
    this.pid = pid;
    this.isElsewhere = isElsewhere;
  }
}

/**
 * Takes the lock and shows that it is held, until the answer is called. Throws `LockHeldError`. What a
 * killed program left behind is taken over: at once where it can be seen that it is gone, else when
 * nobody has touched it for a while.
 */
export async function takeLock(lock: string, settings: LockSettings = {}): Promise<() => void> {
  const self = identifyProcess(process.pid);
  invariant(self !== undefined, "this process has an identity");
  // Each round that does not take the lock has met one holder less, or ends with the holder's pid.
  while (!createLock(lock, self)) {
    const judged = contentOf(lock);
    const holder = readIdentity(lock);
    if (holder !== undefined && (await isHeld(lock, holder, settings))) {
      throw new LockHeldError(holder, !isInSight(holder));
    }
    removeStaleLock(lock, judged);
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

/** Which file it is and when it was touched last; undefined: there is none. */
function touchedAt(lock: string): string | undefined {
  const found = statSync(lock, { throwIfNoEntry: false });
  return found && `${found.ino} ${found.mtimeMs}`;
}

/** Touches it, so that whoever does not see this process sees that its lock is held. Answers the release. */
function keep(lock: string, { touchEveryMs = 1_000, onLost }: LockSettings): () => void {
  // Not which file it is: its number is given to the next one as soon as this one is gone.
  const own = contentOf(lock);
  const touch = () => {
    const found = contentOf(lock);
    if (found === own) utimesSync(lock, new Date(), new Date());
    // Without a lock there is nobody else; without its directory there is nothing to share.
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

/** undefined: there is no lock, or no directory that it could be in. */
function contentOf(lock: string): string | undefined {
  try {
    return readFileSync(lock, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

/** What is removed, or cannot be written for a moment, is looked at again the next time. */
function unlessGone(touch: () => void): void {
  try {
    touch();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
  }
}

/** Puts the lock in place with its content, so that nobody ever reads half of one. */
function createLock(lock: string, self: ProcessIdentity): boolean {
  const draft = `${lock}.${randomUUID()}.new`;
  try {
    writeFileSync(draft, JSON.stringify({ ...self, lock: randomUUID() }), { mode: 0o600 });
    return linkUnlessThere(draft, lock);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Removes the lock by moving it aside first: two programs that both found it stale cannot both win. */
function removeStaleLock(lock: string, judged: string | undefined): void {
  const aside = `${lock}.${randomUUID()}.stale`;
  try {
    renameSync(lock, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  // In between someone else, seen from here or not, has replaced the stale lock by his own: it goes back,
  // unless a third one was there first; the holder of the one that was moved finds that out.
  if (contentOf(aside) !== judged) linkUnlessThere(aside, lock);
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
