import { readFileSync } from "node:fs";

/**
 * The text of a file; undefined when there is none. Throws an error that says why the file cannot be read,
 * so that it is not mistaken for damaged content.
 */
export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    const advice = code === "EACCES" ? ": run this as the user that owns it" : "";
    throw new Error(`${file} cannot be read (${code})${advice}`, { cause });
  }
}
