import { closeSync, fsyncSync, openSync, renameSync, writeSync } from "node:fs";

/** Writes a file whole or not at all, readable by its owner only: a crash leaves the old or the new. */
export function writeFileAtomically(path: string, text: string): void {
  const draft = `${path}.${process.pid}.new`;
  const file = openSync(draft, "w", 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
}
