/** Writes exported files, and removes what an earlier export wrote and this one does not. */
import { existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { readIfThere } from "#kernel/read-if-there.ts";

type File = { path: string; text: string };

/** What an export wrote: these files are its own. */
const manifestName = ".vedette-export.json";
const Manifest = z.object({ files: z.array(z.string()) });

/**
 * Answers the paths written. A file that is there and is not of an earlier export is never
 * overwritten: then nothing is written, and the error names it.
 */
export function writeExport(directory: string, files: readonly File[]): string[] {
  if (existsSync(directory) && !statSync(directory).isDirectory()) {
    throw new Error(`${directory} is no directory; name one with --out`);
  }
  const earlier = readManifest(directory);
  const paths = files.map((file) => file.path);
  const strange = paths.find((name) => !earlier.includes(name) && isThere(directory, name));
  if (strange !== undefined) {
    throw new Error(
      `${path.join(directory, strange)} is there and not of an earlier export; name an empty directory with --out`,
    );
  }
  // First of all: what is killed half-way leaves nothing that the next export takes for someone else's.
  mkdirSync(directory, { recursive: true });
  writeManifest(directory, [...new Set([...earlier, ...paths])]);
  for (const name of earlier) rmSync(path.join(directory, name), { force: true });
  for (const file of files) {
    const target = path.join(directory, file.path);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, file.text);
  }
  writeManifest(directory, paths);
  return paths;
}

function writeManifest(directory: string, files: readonly string[]): void {
  const text = `${JSON.stringify({ files }, null, 2)}\n`;
  const file = path.join(directory, manifestName);
  // A disk that is full leaves the one before, and not a part of one.
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

function isThere(directory: string, name: string): boolean {
  return existsSync(path.join(directory, name));
}

/** Only paths inside of the directory count, whatever the file says. */
function readManifest(directory: string): string[] {
  const file = path.join(directory, manifestName);
  const text = readIfThere(file);
  if (text === undefined) return [];
  try {
    const { files } = Manifest.parse(JSON.parse(text));
    return files.filter((name) => !path.isAbsolute(name) && !name.split(/[\\/]/).includes(".."));
  } catch {
    throw new Error(`${file} is damaged; name an empty directory with --out`);
  }
}
