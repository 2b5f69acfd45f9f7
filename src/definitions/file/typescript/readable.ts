/** Lists what the process that loads a file may read: code and data below its folder, and its packages. */
import { type Dirent, existsSync, lstatSync, readdirSync, realpathSync } from "node:fs";
import path from "node:path";
import { Malformed } from "#definitions/file/fault.ts";
import { programFile } from "#kernel/program-file.ts";

/** And data; neither settings nor keys. */
const code = /\.(?:[cm]?[jt]s|json|ya?ml|csv|txt|md)$|^LICENSE$/;
const hidden = /^\.|^node_modules$/;
/** Files that a data directory has. */
const dataDirectory = /^(?:credentials\.json|vedette\.lock)$/;
const mostEntries = 200_000;
const mostLetters = 500_000;

/** Paths, and folders with `/*` behind them, as Node takes them. `file` has no link in its path. Throws `Malformed`. */
export function listReadable(file: string): string[] {
  // Node would run the text of any file, and quote it.
  if (!/\.m?[jt]s$/.test(file))
    throw new Malformed("is a link to a file that is no code: name the code itself");
  // To Node a star is everything that begins with what precedes it.
  if (file.includes("*")) throw new Malformed("has a * in its path: rename it, or write YAML");
  const program = path.dirname(path.dirname(programFile("#definitions/define-config.ts")));
  const folders = foldersAbove(file);
  const places = folders.map((folder) => path.join(folder, "node_modules")).filter(isFolder);
  const walk: Walk = { root: folders[0], left: mostEntries, found: new Set([file]), places };
  for (const folder of [path.dirname(program), ...folders]) {
    const scope = path.join(folder, "package.json");
    // Node asks for one that is not there, too. A link or a folder could lead anywhere.
    if (lstatSync(scope, { throwIfNoEntry: false })?.isFile() !== false) walk.found.add(scope);
  }
  walk.found.add(path.join(program, "*"));
  add(walkFolder(path.dirname(file), true, walk), walk);
  for (const place of places) addPackages(place, walk);
  if ([...walk.found].join().length > mostLetters) throw tooMany();
  return [...walk.found];
}

type Walk = {
  root: string | undefined;
  left: number;
  found: Set<string>;
  /** Every folder of packages that was met. */
  places: string[];
};
/** `isWhole`: everything in the folder may be read. */
type Found = { isWhole: boolean; paths: string[] };

function foldersAbove(file: string): string[] {
  const folder = path.dirname(file);
  return folder === file ? [] : [folder, ...foldersAbove(folder)];
}

/** Not a link to one. */
const isFolder = (folder: string) => lstatSync(folder, { throwIfNoEntry: false })?.isDirectory();

function add({ paths }: Found, { found }: Walk): void {
  for (const one of paths) found.add(one);
}

/** Links are left out: Node follows them wherever they lead. So is a data directory. */
function walkFolder(folder: string, isOwn: boolean, walk: Walk): Found {
  const none: Found = { isWhole: false, paths: [] };
  const entries = entriesOf(folder, walk);
  if (isOwn && entries.some(({ name }) => dataDirectory.test(name))) return none;
  const parts = entries.map((entry): Found => {
    const at = path.join(folder, entry.name);
    if (entry.name.includes("*") || (isOwn && hidden.test(entry.name))) return none;
    if (entry.isDirectory()) return walkFolder(at, isOwn, walk);
    const isFit = entry.isFile() && (!isOwn || code.test(entry.name));
    return isFit ? { isWhole: true, paths: [at] } : none;
  });
  // A folder that is made later may be a data directory.
  const isWhole = folder !== walk.root && parts.length > 0 && parts.every((one) => one.isWhole);
  return { isWhole, paths: isWhole ? [path.join(folder, "*")] : parts.flatMap((one) => one.paths) };
}

function entriesOf(folder: string, walk: Walk): Dirent[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    walk.left -= entries.length;
    if (walk.left >= 0) return entries;
  } catch {
    return [];
  }
  throw tooMany();
}

const tooMany = () =>
  new Malformed("has too many files around it: move it to a folder of its own, or write YAML");

function addPackages(place: string, walk: Walk): void {
  for (const entry of entriesOf(place, walk)) {
    const at = path.join(place, entry.name);
    if (/^\.|\*/.test(entry.name)) continue;
    if (entry.isSymbolicLink()) addLinked(at, walk);
    else if (entry.name.startsWith("@")) addPackages(at, walk);
    else add(walkFolder(at, false, walk), walk);
  }
}

/** A package in a store as that of pnpm, or of a workspace if nothing is hidden in it; no link to anything else. */
function addLinked(link: string, walk: Walk): void {
  if (!existsSync(link)) return;
  const target = realpathSync(link);
  const store = walk.places.find((place) => target.startsWith(`${place}${path.sep}`));
  const inner = path.relative(placeOf(link, ".."), target);
  if (store === undefined && (inner === "" || /^\.|[\\/]\.|:/.test(inner))) return;
  const found = walkFolder(target, store === undefined, walk);
  // Node reads the link first, and whoever may do that may read all below it.
  if (!found.isWhole && store === undefined) return;
  add(found, walk);
  for (const one of found.paths) walk.found.add(link + one.slice(target.length));
  const around = placeOf(target);
  if (store === undefined || walk.places.includes(around)) return;
  walk.places.push(around);
  addPackages(around, walk);
}

/** The folder of packages in which a package lies. */
function placeOf(inPackage: string, beside = ""): string {
  const name = `${path.sep}node_modules`;
  return path.join(inPackage.slice(0, inPackage.lastIndexOf(name + path.sep)), name, beside);
}
