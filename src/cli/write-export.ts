/** Writes exported files, and removes files of an earlier export that this one does not write. */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { z } from "zod";
import { readIfThere } from "#kernel/files.ts";

type File = { path: string; text: string };

/** Lists the files that an export wrote and may replace. */
const manifestName = ".vedette-export.json";
const Manifest = z.object({ files: z.array(z.string()) });

/** Returns the written paths. Writes nothing where a file of no earlier export is in the way; the error names it. */
export function writeExport(directory: string, files: readonly File[]): string[] {
  if (existsSync(directory) && !statSync(directory).isDirectory()) {
    throw new Error(`${directory} is not a directory; name one with --out`);
  }
  const earlier = readManifest(directory);
  const paths = files.map((file) => file.path);
  for (const name of [...earlier, ...paths]) refuseLinks(directory, name);
  const foreign = paths.find((name) => !earlier.includes(name) && exists(directory, name));
  if (foreign !== undefined) {
    throw new Error(
      `${path.join(directory, foreign)} exists and is not of an earlier export; name an empty directory with --out`,
    );
  }
  // Written first: after a kill half-way the next export recognises the files as its own.
  mkdirSync(directory, { recursive: true });
  writeManifest(directory, [...new Set([...earlier, ...paths])]);
  for (const name of earlier) rmSync(path.join(directory, name), { force: true });
  for (const file of files) {
    const target = path.join(directory, file.path);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, file.text, { flag: "wx" });
  }
  writeManifest(directory, paths);
  return paths;
}

function writeManifest(directory: string, files: readonly string[]): void {
  const text = `${JSON.stringify({ files }, null, 2)}\n`;
  const file = path.join(directory, manifestName);
  // When the disk is full the previous manifest remains, and not a part of the new one.
  // A leftover of an earlier export may be a link.
  rmSync(`${file}.new`, { force: true });
  writeFileSync(`${file}.new`, text, { flag: "wx" });
  renameSync(`${file}.new`, file);
}

/** True also for a dead link: what is written to a link arrives elsewhere. */
function exists(directory: string, name: string): boolean {
  return lstatSync(path.join(directory, name), { throwIfNoEntry: false }) !== undefined;
}

/** Throws for a file in a folder that is a link, which may lead out of the directory. */
function refuseLinks(directory: string, name: string): void {
  const folder = path.dirname(name);
  if (folder === ".") return;
  refuseLinks(directory, folder);
  const whole = path.join(directory, folder);
  if (lstatSync(whole, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return;
  throw new Error(`${whole} is a link; name an empty directory with --out`);
}

/** Ignores paths outside of the directory, whatever the file says. */
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
