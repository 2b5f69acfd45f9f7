/** The sessions of `vedette login`: one file for each address, which its owner alone can read. */
import { createHash } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { parseJsonText } from "#kernel/body.ts";
import { readIfThere, writeFileAtomically } from "#kernel/files.ts";

const SavedSession = z.object({
  /** The address of control, without a trailing slash. */
  url: z.string(),
  token: z.string().min(1),
  actor: z.string(),
  ends_at: z.string(),
});
export type SavedSession = z.infer<typeof SavedSession>;

type Environment = Record<string, string | undefined>;

/** undefined: nobody has signed in at this address, or has signed out since. */
export function readSession(url: string, environment: Environment): SavedSession | undefined {
  const file = fileOf(url, environment);
  const text = file === undefined ? undefined : readIfThere(file);
  if (text === undefined) return undefined;
  const found = SavedSession.safeParse(parseJsonText(text));
  if (!found.success) throw new Error(`${file} is damaged: run \`vedette login\``);
  return found.data.url === url ? found.data : undefined;
}

export function saveSession(session: SavedSession, environment: Environment): void {
  const file = prepareFile(session.url, environment);
  writeFileAtomically(file, `${JSON.stringify(session)}\n`);
}

/** Makes the folder, and answers the file in it. Throws when there can be none. */
export function prepareFile(url: string, environment: Environment): string {
  const file = requireFile(url, environment);
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  return file;
}

export function deleteSession(url: string, environment: Environment): void {
  const file = fileOf(url, environment);
  if (file !== undefined) rmSync(file, { force: true });
}

export function hasEnded({ ends_at }: SavedSession, nowMs: number): boolean {
  return !(Date.parse(ends_at) > nowMs);
}

/** Returns the file of an address's session. Throws without a home directory. */
export function requireFile(url: string, environment: Environment): string {
  const file = fileOf(url, environment);
  if (file !== undefined) return file;
  throw new Error("a session cannot be stored: set HOME or XDG_CONFIG_HOME");
}

/** Follows the XDG Base Directory Specification, which ignores a relative XDG_CONFIG_HOME. */
function fileOf(url: string, environment: Environment): string | undefined {
  const { XDG_CONFIG_HOME: named = "", HOME: home = "" } = environment;
  if (!path.isAbsolute(named) && home === "") return undefined;
  const config = path.isAbsolute(named) ? named : path.join(home, ".config");
  const name = createHash("sha256").update(url).digest("hex").slice(0, 32);
  return path.join(config, "vedette", "sessions", `${name}.json`);
}
