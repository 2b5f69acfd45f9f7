/** The lock file that a killed Postgres server leaves in its directory. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { endProcess, identifyProcess, type ProcessIdentity } from "#kernel/process.ts";
import { postgresEnvironment } from "./postgres-cluster.ts";

/**
 * Postgres does not start while the pid in its lock file is alive. When it is a server of ours that no pid
 * file names, we end it. When it is another program that got the pid since, we remove the lock. When no
 * process has the pid, or nothing certain is known of it, Postgres decides: it starts or says why it can't.
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
  const owner = gradeHolder(readTraits(holder, directory), readLockTime(lock));
  if (owner === "ours") await endProcess(holder, { signal: "SIGINT", graceMs: stopWithinMs });
  if (owner === "other") rmSync(lock, { force: true });
}

/** Known facts about a process; undefined: the machine doesn't show it, or not to us. */
export type Traits = {
  executable: string | undefined;
  /** True if its working directory is the data directory. */
  isInside: boolean | undefined;
  startedAtMs: number | undefined;
};

/** Both times may be rounded, and a server writes its lock shortly after its start. */
const sameStartMs = 60_000;

/** Every process of a Postgres server has the executable `postgres` and works in its data directory. */
export function gradeHolder(
  { executable, isInside, startedAtMs }: Traits,
  lockedAtMs: number | undefined,
): "ours" | "other" | "unknown" {
  // Linux marks a binary that an upgrade has replaced as deleted.
  const program = executable && path.basename(executable).replace(/ \(deleted\)$/, "");
  if (program !== undefined && program !== "postgres") return "other";
  if (isInside === false) return "other";
  if (program !== undefined && isInside === true) return "ours";
  if (startedAtMs === undefined || lockedAtMs === undefined) return "unknown";
  return Math.abs(startedAtMs - lockedAtMs) > sameStartMs ? "other" : "unknown";
}

/** Reads /proc; where that isn't readable, the command line of the process. */
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

/** Compares device and inode: in a container the same path may be another directory, and the reverse. */
function isSameDirectory(one: string, other: string): boolean | undefined {
  try {
    const [a, b] = [statSync(one), statSync(other)];
    return a.dev === b.dev && a.ino === b.ino;
  } catch {
    return undefined;
  }
}

/** The start time that `ps` prints. That of Linux counts from the boot and is not a date. */
function readWallClock(startedAt: string): number | undefined {
  const ms = /^\d+$/.test(startedAt) ? Number.NaN : Date.parse(startedAt);
  return Number.isNaN(ms) ? undefined : ms;
}

/** Reads when the server that wrote the lock started: its third line. */
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
 * A killed server whose parent is gone remains a zombie where no process reaps it, as in a container
 * without an init: Postgres would consider its pid alive for ever. Its sessions end by themselves; then we
 * remove the lock, which guards their shared memory.
 */
async function clearZombieLock(lock: string, zombie: ZombieLock): Promise<void> {
  if (!existsSync(`/proc/${zombie.pid}`)) return;
  const deadline = performance.now() + zombie.withinMs;
  while (hasSessions(zombie.directory) && performance.now() < deadline) await delay(20);
  if (!hasSessions(zombie.directory)) rmSync(lock, { force: true });
}

/** True if any process works in the cluster's directory, as every process of Postgres does. */
function hasSessions(directory: string): boolean {
  return readdirSync("/proc").some(
    (entry) => /^\d+$/.test(entry) && isSameDirectory(`/proc/${entry}/cwd`, directory) === true,
  );
}

/** The command line; from `ps` only the program, since it doesn't separate arguments. Empty: unknown. */
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
