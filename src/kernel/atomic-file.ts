import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";

/** Writes a file whole or not at all, readable by its owner only: a crash leaves the old or the new. */
export function writeFileAtomically(path: string, text: string): void {
  const draft = `${path}.${process.pid}.new`;
  try {
    writeDraft(draft, text);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

function writeDraft(draft: string, text: string): void {
  const file = openSync(draft, "w", 0o600);
  try {
    // Not writeSync: on a disk that is almost full that writes a part and is content.
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
