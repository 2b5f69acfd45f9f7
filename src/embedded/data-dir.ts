/** The directory with all local data of an installation, used by one program at a time. */
import { mkdirSync } from "node:fs";
import path from "node:path";
import { LockHeldError, type LockSettings, takeLock } from "./data-dir-lock.ts";

export type DataDir = {
  /** Absolute. */
  path: string;
  release: () => void;
};

/**
 * Creates the directory if necessary, accessible to its owner only, and locks it until `release`. Throws an
 * error that says what to do when another program uses it; the lock of a killed program is taken over.
 */
export async function openDataDir(directory: string, settings?: LockSettings): Promise<DataDir> {
  const absolute = path.resolve(directory);
  try {
    mkdirSync(absolute, { recursive: true, mode: 0o700 });
    const release = await takeLock(path.join(absolute, "vedette.lock"), settings);
    return { path: absolute, release };
  } catch (error) {
    throw explain(error, absolute);
  }
}

function explain(error: unknown, directory: string): unknown {
  if (error instanceof LockHeldError) {
    const holder = `process ${error.pid}${error.isElsewhere ? " of another container or machine" : ""}`;
    return new Error(
      `data_dir ${directory} is in use by ${holder}; end it or set another data_dir`,
    );
  }
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) return error;
  return new Error(`data_dir ${directory} cannot be used (${code})`, { cause: error });
}
