import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";

/**
 * Writes a file atomically, readable by its owner only: after a crash it has the old content or the new. Throws an error
 * that names the file, as on a full disk.
 */
export function writeFileAtomically(path: string, text: string): void {
  const draft = `${path}.${process.pid}.new`;
  try {
    writeDraft(draft, text);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    const { message, code } = error as NodeJS.ErrnoException;
    const named = new Error(`${path} cannot be written: ${message}`, { cause: error });
    throw Object.assign(named, { code });
  }
}

function writeDraft(draft: string, text: string): void {
  const file = openSync(draft, "w", 0o600);
  try {
    // Not writeSync: on an almost full disk that writes a part of the text without an error.
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
