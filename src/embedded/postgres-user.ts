/** Postgres refuses to run as root: then it runs as another user, who may still reach its files. */
import { execFileSync } from "node:child_process";
import { chownSync } from "node:fs";

export type RunAs = {
  /** What to put before the command. */
  prefix: string[];
  uid?: number;
  gid?: number;
};

/**
 * How to start Postgres here. As an ordinary user: as it is. As root: as `postgres`, or else
 * `nobody`, with the two capabilities that let it pass through directories which only root may
 * enter (/root, a private temporary directory). Without `setpriv` just as that user.
 */
export function runPostgresAs(): RunAs {
  if (process.getuid?.() !== 0) return { prefix: [] };
  const { uid, gid } = findUser();
  const capabilities = "+dac_override,+dac_read_search";
  const prefix = [
    "setpriv",
    `--reuid=${uid}`,
    `--regid=${gid}`,
    "--clear-groups",
    // Without it access(2) asks as a user without capabilities, and initdb finds no binaries.
    "--securebits=+no_setuid_fixup",
    `--inh-caps=${capabilities}`,
    `--ambient-caps=${capabilities}`,
  ];
  return canRun([...prefix, "true"]) ? { prefix, uid, gid } : { prefix: [], uid, gid };
}

/** Gives a directory to the user that Postgres runs as. */
export function giveTo(runAs: RunAs, directory: string): void {
  if (runAs.uid !== undefined && runAs.gid !== undefined) {
    chownSync(directory, runAs.uid, runAs.gid);
  }
}

/** Options for `spawn`: the uid is set by us only where `setpriv` does not do it. */
export function spawnIdentity(runAs: RunAs): { uid?: number; gid?: number } {
  if (runAs.prefix.length > 0 || runAs.uid === undefined || runAs.gid === undefined) return {};
  return { uid: runAs.uid, gid: runAs.gid };
}

function findUser(): { uid: number; gid: number } {
  for (const name of ["postgres", "nobody"]) {
    const uid = idOf("-u", name);
    const gid = idOf("-g", name);
    if (uid !== undefined && gid !== undefined) return { uid, gid };
  }
  throw new Error("Postgres does not run as root, and there is neither a user postgres nor nobody");
}

function idOf(option: string, name: string): number | undefined {
  try {
    const output = execFileSync("id", [option, name], { timeout: 5_000, stdio: "pipe" });
    return Number(output.toString());
  } catch {
    return undefined;
  }
}

function canRun(command: string[]): boolean {
  const [file = "", ...args] = command;
  try {
    execFileSync(file, args, { timeout: 5_000, stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
