/** The lock that a Postgres server leaves in its directory when it is killed. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { endProcess, identifyProcess, type ProcessIdentity } from "#kernel/owned-process.ts";
import { postgresEnvironment } from "./postgres-cluster.ts";

/**
 * Postgres does not start while the pid in its lock file is alive. That may be a server of ours
 * that nobody wrote down: it is ended. Or a stranger who got the pid since: the lock is removed.
 * A pid that is nobody's, or of which nothing certain is known, is left to Postgres, which goes on or
 * says what is in its way.
 */
export async function clearStaleLock(directory: string, stopWithinMs: number): Promise<void> {
  const lock = path.join(directory, "postmaster.pid");
  if (!existsSync(lock)) return;
  const pid = Number.parseInt(readFileSync(lock, "utf8"), 10);
  const holder = identifyProcess(pid);
  if (holder === undefined) {
    await clearZombieLock(lock, { pid, directory, withinMs: stopWithinMs });
    return;
  }
  const owner = judgeHolder(readTraits(holder, directory), readLockTime(lock));
  if (owner === "ours") await endProcess(holder, { signal: "SIGINT", graceMs: stopWithinMs });
  if (owner === "stranger") rmSync(lock, { force: true });
}

/** What a process is seen to be; undefined: the machine does not say, or not to us. */
export type Traits = {
  executable: string | undefined;
  /** Whether it works in the directory of the data. */
  isInside: boolean | undefined;
  startedAtMs: number | undefined;
};

/** Either may be rounded, and a server writes its lock a little after its start. */
const sameStartMs = 60_000;

/** Every process of a Postgres works in the directory of its data; no other program counts as one. */
export function judgeHolder(
  { executable, isInside, startedAtMs }: Traits,
  lockedAtMs: number | undefined,
): "ours" | "stranger" | "unknown" {
  // A binary that an upgrade has replaced is shown as deleted.
  const program = executable && path.basename(executable).replace(/ \(deleted\)$/, "");
  if (program !== undefined && program !== "postgres") return "stranger";
  if (isInside === false) return "stranger";
  if (program !== undefined && isInside === true) return "ours";
  if (startedAtMs === undefined || lockedAtMs === undefined) return "unknown";
  return Math.abs(startedAtMs - lockedAtMs) > sameStartMs ? "stranger" : "unknown";
}

/** By what the machine says; where it says nothing to us, by how the process was started. */
function readTraits({ pid, startedAt }: ProcessIdentity, directory: string): Traits {
  const startedAtMs = readWallClock(startedAt);
  const executable = readLink(`/proc/${pid}/exe`);
  const isInside = isSameDirectory(`/proc/${pid}/cwd`, directory);
  if (executable !== undefined && isInside !== undefined) {
    return { executable, isInside, startedAtMs };
  }
  const [program, ...args] = argumentsOf(pid);
  const at = args.indexOf("-D");
  const given = at < 0 ? undefined : args[at + 1];
  return {
    executable: program,
    isInside: given === undefined ? undefined : isSameDirectory(given, directory),
    startedAtMs,
  };
}

/** By what they are: a container may have another directory at the same path, and this one at another. */
function isSameDirectory(one: string, other: string): boolean | undefined {
  try {
    const [a, b] = [statSync(one), statSync(other)];
    return a.dev === b.dev && a.ino === b.ino;
  } catch {
    return undefined;
  }
}

/** Of `ps`. What Linux tells counts from the machine's start, and is no time of any clock. */
function readWallClock(startedAt: string): number | undefined {
  const ms = /^\d+$/.test(startedAt) ? Number.NaN : Date.parse(startedAt);
  return Number.isNaN(ms) ? undefined : ms;
}

/** When the server that wrote the lock began, by its third line. */
function readLockTime(lock: string): number | undefined {
  const seconds = Number(readFileSync(lock, "utf8").split("\n")[2]);
  return Number.isInteger(seconds) && seconds > 0 ? seconds * 1_000 : undefined;
}

function readLink(link: string): string | undefined {
  try {
    return readlinkSync(link);
  } catch {
    return undefined;
  }
}

type ZombieLock = { pid: number; directory: string; withinMs: number };

/**
 * A killed server whose parent is gone stays a zombie where nobody reaps it, as in a container
 * without an init: Postgres takes its pid for alive, for ever. Its sessions end by themselves; the
 * lock, which guards their memory, is removed once they have.
 */
async function clearZombieLock(lock: string, zombie: ZombieLock): Promise<void> {
  if (!existsSync(`/proc/${zombie.pid}`)) return;
  const deadline = performance.now() + zombie.withinMs;
  while (hasSessions(zombie.directory) && performance.now() < deadline) await delay(20);
  if (!hasSessions(zombie.directory)) rmSync(lock, { force: true });
}

/** Whether a process works in the cluster's directory, as every one of Postgres does. */
function hasSessions(directory: string): boolean {
  return readdirSync("/proc").some(
    (entry) => /^\d+$/.test(entry) && isSameDirectory(`/proc/${entry}/cwd`, directory) === true,
  );
}

/** Of `ps` the program alone: it does not say where an argument ends. Empty: nothing is known. */
function argumentsOf(pid: number): string[] {
  try {
    if (existsSync("/proc/self/cmdline")) {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    }
    const options = { timeout: 5_000, env: postgresEnvironment };
    return [
      execFileSync("ps", ["-o", "comm=", "-p", String(pid)], options)
        .toString()
        .trim(),
    ];
  } catch {
    return [];
  }
}
