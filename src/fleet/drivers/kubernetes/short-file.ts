/** Files that have credentials: a fault names the file, and quotes nothing of it. */
import { readFileSync, type Stats, statSync } from "node:fs";

/** No kubeconfig, certificate or token is larger; a disk or a log must not be read. */
const largestBytes = 1_048_576;

/** Undefined when there is none. Throws when it cannot be read, is no regular file, or is larger than 1 MiB. */
export function readShortFile(file: string): Buffer | undefined {
  const about = attempt(file, () => statSync(file));
  if (about === undefined) return undefined;
  judge(file, about);
  return attempt(file, () => readFileSync(file));
}

/** As `readShortFile`, and throws when there is none. */
export function readNeededFile(file: string): Buffer {
  const bytes = readShortFile(file);
  if (bytes === undefined) throw new Error(`${file} does not exist`);
  return bytes;
}

/** A pipe or a device would keep us waiting for ever. */
function judge(file: string, about: Stats): void {
  if (!about.isFile()) throw new Error(`${file} is no regular file`);
  if (about.size > largestBytes) throw new Error(`${file} is larger than 1 MiB`);
}

function attempt<Value>(file: string, read: () => Value): Value | undefined {
  try {
    return read();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    const advice = code === "EACCES" ? ": let the user that runs Vedette read it" : "";
    throw new Error(`${file} cannot be read (${code})${advice}`, { cause });
  }
}
