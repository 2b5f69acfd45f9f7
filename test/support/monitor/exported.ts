import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

/** Writes exported files into a directory, as the command does. */
export function writeFiles(directory: string, files: readonly { path: string; text: string }[]) {
  for (const file of files) {
    const target = path.join(directory, file.path);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, file.text);
  }
}
