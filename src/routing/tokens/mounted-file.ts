/** Replaces and restores a file that another program reads (a secret or its settings), atomically. */
import {
  chownSync,
  closeSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";

/** A file that cannot be read or written; `message` names it and says what to do. */
class MountedFileError extends Error {}

/** The file's text, unchanged; null: there is no such file. */
export function readText(file: string): string | null {
  try {
    return existsSync(file) ? readFileSync(file, "utf8") : null;
  } catch (cause) {
    throw cannot("read", file, cause);
  }
}

/** The file's text without the line end that editors add; null: there is no such file. */
export function readSecret(file: string): string | null {
  return readText(file)?.trim() ?? null;
}

/**
 * Replaces the file atomically: readers see the old content or the new one. It is readable by its
 * owner only, and on disk when this returns. The owner does not change: the program that reads it may
 * run as another user. No line end is added, since some readers take it for a part of the secret.
 */
export function writeSecret(file: string, secret: string): void {
  replaceFile(file, secret, () => 0o600);
}

/** The same for a file without secrets: its mode does not change; a new file is readable by everyone. */
export function writeText(file: string, text: string): void {
  replaceFile(file, text, (old) => (old === undefined ? 0o644 : old.mode & 0o777));
}

export function restoreSecret(file: string, previous: string | null): void {
  if (previous === null) rmSync(file, { force: true });
  else writeSecret(file, previous);
}

export function restoreText(file: string, previous: string | null): void {
  if (previous === null) rmSync(file, { force: true });
  else writeText(file, previous);
}

type ModeOf = (old: Stats | undefined) => number;

function replaceFile(file: string, text: string, modeOf: ModeOf): void {
  // A mounted secret is often a symbolic link: its target is replaced, not the link.
  const target = existsSync(file) ? realpathSync(file) : file;
  const old = existsSync(target) ? statSync(target) : undefined;
  if (old !== undefined && !old.isFile()) {
    throw new MountedFileError(`${file} is no file; name the file itself`);
  }
  const draft = `${target}.${process.pid}.new`;
  try {
    writeDraft(draft, text, modeOf(old));
    if (old !== undefined) keepOwner(draft, old);
    renameSync(draft, target);
    syncDirectory(path.dirname(target));
  } catch (cause) {
    dropDraft(draft);
    throw cannot("write", file, cause);
  }
}

function writeDraft(draft: string, text: string, mode: number): void {
  // A draft that an earlier run left is deleted, not reused: it may be a link, or readable by others.
  rmSync(draft, { force: true });
  const descriptor = openSync(draft, "wx", 0o600);
  try {
    writeFileSync(descriptor, text);
    fchmodSync(descriptor, mode);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function dropDraft(draft: string): void {
  try {
    rmSync(draft, { force: true });
  } catch {
    // The reason why it could not be written: then it most likely does not exist.
  }
}

function keepOwner(draft: string, { uid, gid }: Stats): void {
  if (process.getuid?.() === uid && process.getgid?.() === gid) return;
  chownSync(draft, uid, gid);
}

/** A rename is on disk when its directory is. */
function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function cannot(verb: "read" | "write", file: string, cause: unknown): MountedFileError {
  const { code = "unknown error" } = cause as NodeJS.ErrnoException;
  const advice: Record<string, string> = {
    ENOENT: `its directory ${path.dirname(file)} does not exist; make it first`,
    ENOTDIR: `${path.dirname(file)} is no directory; name another file`,
    EISDIR: "it is a directory; name the file itself",
    EACCES: "this user may not; run as the user that owns it",
    EPERM: "this user may not keep its owner; run as the user that owns it, or as root",
    EROFS: "it is on a file system that is mounted read-only; write where it is mounted from",
    EBUSY: "it is mounted by itself and cannot be replaced; mount its directory instead",
  };
  const reason = advice[code] ?? code;
  return new MountedFileError(`cannot ${verb} ${file}: ${reason}`, { cause });
}
