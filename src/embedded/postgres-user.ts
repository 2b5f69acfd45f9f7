/** Postgres refuses to run as root: then it runs as another user that can still reach its files. */
import { execFileSync } from "node:child_process";
import { chownSync, realpathSync, statSync } from "node:fs";
import path from "node:path";

export type RunAs = {
  /** Words to put before the command. */
  prefix: string[];
  uid?: number;
  gid?: number;
};

type User = { uid: number; gid: number };

/**
 * Decides how to start Postgres. An ordinary user starts it as itself; root as `postgres`, or else as `nobody`.
 * When that user cannot reach a path of `needed` (a data directory below /root, a private temporary directory) it
 * gets one additional capability, the smallest that this machine grants. Throws an error that names the remedy when
 * nothing works.
 */
export function runPostgresAs(needed: { program: string; directory: string }): RunAs {
  if (process.getuid?.() !== 0) return { prefix: [] };
  const user = findUser();
  if (isReachable(needed.program, user) && isReachable(needed.directory, user)) {
    return { prefix: [], ...user };
  }
  for (const capability of ["+dac_read_search", "+dac_override"]) {
    const prefix = withCapability(user, capability);
    if (canRun([...prefix, needed.program, "--version"])) return { prefix, ...user };
  }
  throw new Error(
    `Postgres does not run as root, and another user cannot reach ${needed.directory} or ` +
      `${needed.program}; set data_dir elsewhere, start as an ordinary user, or set database.url`,
  );
}

/** Gives a file or directory to the user that Postgres runs as. */
export function giveTo(runAs: RunAs, file: string): void {
  if (runAs.uid !== undefined && runAs.gid !== undefined) chownSync(file, runAs.uid, runAs.gid);
}

/** Options for `spawn`: the user is set here only when `setpriv` doesn't set it. */
export function spawnIdentity(runAs: RunAs): { uid?: number; gid?: number } {
  if (runAs.prefix.length > 0 || runAs.uid === undefined || runAs.gid === undefined) return {};
  return { uid: runAs.uid, gid: runAs.gid };
}

function withCapability({ uid, gid }: User, capability: string): string[] {
  return [
    "setpriv",
    `--reuid=${uid}`,
    `--regid=${gid}`,
    "--clear-groups",
    // Without it access(2) checks without capabilities, and initdb finds no binaries.
    "--securebits=+no_setuid_fixup",
    `--inh-caps=${capability}`,
    `--ambient-caps=${capability}`,
  ];
}

/** True if the user may pass through every directory above the file. */
function isReachable(file: string, user: User): boolean {
  const parent = path.dirname(file);
  if (parent === file) return true;
  const real = realpathSync(parent);
  return mayEnter(statSync(real), user) && isReachable(real, user);
}

/** Checks the mode bits of a directory as the kernel does for a user without supplementary groups. */
export function mayEnter(
  directory: { mode: number; uid: number; gid: number },
  user: User,
): boolean {
  if (directory.uid === user.uid) return (directory.mode & 0o100) !== 0;
  if (directory.gid === user.gid) return (directory.mode & 0o010) !== 0;
  return (directory.mode & 0o001) !== 0;
}

function findUser(): User {
  for (const name of ["postgres", "nobody"]) {
    const uid = idOf("-u", name);
    const gid = idOf("-g", name);
    if (uid !== undefined && gid !== undefined) return { uid, gid };
  }
  throw new Error("Postgres does not run as root, and there is neither a user postgres nor nobody");
}

/** Far more than these programs need, because a timeout counts as a failure. */
const askTimeoutMs = 60_000;

function idOf(option: string, name: string): number | undefined {
  try {
    const output = execFileSync("id", [option, name], { timeout: askTimeoutMs, stdio: "pipe" });
    return Number(output.toString());
  } catch {
    return undefined;
  }
}

function canRun([file = "", ...args]: string[]): boolean {
  try {
    execFileSync(file, args, { timeout: askTimeoutMs, stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
