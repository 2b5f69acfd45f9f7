/** A file that holds one secret, which another program reads: replaced whole, and put back whole. */
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
  writeSync,
} from "node:fs";
import path from "node:path";

/** A file that cannot be read or written; `message` names it and says what to do. */
export class SecretFileError extends Error {}

/** What the file holds without the line end that editors add; null: there is no such file. */
export function readSecret(file: string): string | null {
  try {
    return existsSync(file) ? readFileSync(file, "utf8").trim() : null;
  } catch (cause) {
    throw cannot("read", file, cause);
  }
}

/**
 * Replaces the file: readable by its owner only, on disk when this returns, the old one or the new
 * one whole at every moment. The owner of the old one keeps it: whoever reads it may be another user.
 * No line end is added, since some readers take it for a part of the secret.
 */
export function writeSecret(file: string, secret: string): void {
  // A mounted secret is often a link: what it points to is replaced, not the link.
  const target = existsSync(file) ? realpathSync(file) : file;
  const old = existsSync(target) ? statSync(target) : undefined;
  if (old !== undefined && !old.isFile()) {
    throw new SecretFileError(`${file} is no file; name the file that is to hold the token`);
  }
  const draft = `${target}.${process.pid}.new`;
  try {
    writeDraft(draft, secret, old);
    renameSync(draft, target);
    syncDirectory(path.dirname(target));
  } catch (cause) {
    dropDraft(draft);
    throw cannot("write", file, cause);
  }
}

/** Puts back what `readSecret` answered. */
export function restoreSecret(file: string, previous: string | null): void {
  if (previous === null) rmSync(file, { force: true });
  else writeSecret(file, previous);
}

function writeDraft(draft: string, secret: string, old: Stats | undefined): void {
  // What an earlier run left behind is not written through: it may be a link, or open to others.
  rmSync(draft, { force: true });
  const descriptor = openSync(draft, "wx", 0o600);
  try {
    writeSync(descriptor, secret);
    fchmodSync(descriptor, 0o600);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  if (old !== undefined) keepOwner(draft, old);
}

function dropDraft(draft: string): void {
  try {
    rmSync(draft, { force: true });
  } catch {
    // What kept it from being written keeps it from being there.
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

function cannot(verb: "read" | "write", file: string, cause: unknown): SecretFileError {
  const { code = "unknown error" } = cause as NodeJS.ErrnoException;
  const advice: Record<string, string> = {
    ENOENT: `its directory ${path.dirname(file)} does not exist; make it first`,
    ENOTDIR: `${path.dirname(file)} is no directory; name another file`,
    EISDIR: "it is a directory; name the file that holds the token",
    EACCES: "this user may not; run as the user that owns it",
    EPERM: "this user may not keep its owner; run as the user that owns it, or as root",
    EROFS: "it is on a file system that is mounted read-only; write where it is mounted from",
    EBUSY: "it is mounted by itself and cannot be replaced; mount its directory instead",
  };
  const reason = advice[code] ?? code;
  return new SecretFileError(`cannot ${verb} ${file}: ${reason}`, { cause });
}
