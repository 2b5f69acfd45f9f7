/** Runs the child process that loads a file, within limits. */
import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { type Dirent, existsSync, lstatSync, readdirSync, realpathSync } from "node:fs";
import path from "node:path";
import type { Readable, Writable } from "node:stream";
import { Malformed } from "#definitions/file/fault.ts";
import { programFile } from "#kernel/process.ts";
import { type LoadResult, parseResult } from "./result.ts";

// Lists what the process that loads a file may read: code and data below its folder, and its packages.

/** And data; neither settings nor keys. */
const code = /\.(?:[cm]?[jt]s|json|ya?ml|csv|txt|md)$|^LICENSE$/;
const hidden = /^\.|^node_modules$/;
/** Files that a data directory has. */
const dataDirectory = /^(?:credentials\.json|vedette\.lock)$/;
const mostEntries = 200_000;
const mostLetters = 500_000;

/** Paths, and folders with `/*` behind them, as Node takes them. `file` has no link in its path. Throws `Malformed`. */
function listReadable(file: string): string[] {
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

const withinMs = 10_000;
const largestResult = 16 * 1024 * 1024;

/** Why there is no result; what to do is in the message. */
export class NoResult extends Error {}

export type Limits = { withinMs: number; largestResult: number };

/** Rejects with `NoResult` when the child reports nothing, too much, or not in time. */
export function runChild(
  file: string,
  limits: Limits = { withinMs, largestResult },
): Promise<LoadResult> {
  const { promise, resolve, reject } = Promise.withResolvers<LoadResult>();
  const child = startChild(realpathSync(file));
  const [output, lifeline] = child.stdio.slice(3) as [Readable, Writable];
  const fail = (reason: string, options?: ErrorOptions) => reject(new NoResult(reason, options));
  const timer = setTimeout(
    () => fail(`did not load within ${limits.withinMs / 1_000} s`),
    limits.withinMs,
  );
  const exited = Promise.withResolvers<number | null>();
  child.once("exit", exited.resolve);
  child.once("error", (cause) => fail(`cannot be loaded: ${cause.message}`, { cause }));
  readResult(output, { largest: limits.largestResult })
    .then(async (text) =>
      text === undefined ? fail(endedWithout(await exited.promise)) : resolve(parseResult(text)),
    )
    .catch((error: Error) => fail(error.message));
  return promise.finally(() => {
    clearTimeout(timer);
    endGroup(child);
    output.destroy();
    lifeline.destroy();
  });
}

const isWindows = process.platform === "win32";

/** Without the environment, and on all but Windows in a process group of its own. */
function startChild(file: string): ChildProcess {
  const readable = listReadable(file).map((one) => `--allow-fs-read=${one}`);
  const command = [process.execPath, ...flags, ...readable, entry(), file];
  const [program = "", ...args] = isWindows ? command : ["/bin/sh", "-c", guard, "sh", ...command];
  // The output of the file is not its result, and must not be mixed with that of a command.
  const stdio: StdioOptions = ["ignore", "ignore", "ignore", "pipe", "pipe"];
  return spawn(program, args, { env: {}, stdio, detached: !isWindows });
}

/** Ends the group once descriptor 4 is closed, which it is, too, when this process is killed. */
const guard = '(read -r _; kill -s KILL -- "-$$") <&4 3>&- & exec "$@" 4<&-';

function endGroup(child: ChildProcess): void {
  try {
    if (isWindows) child.kill("SIGKILL");
    else if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    // All of it has ended.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

const flags = [
  // No network, programs, threads, addons and writing; reading as far as it is allowed.
  "--permission",
  // It opens and writes files without permission.
  "--no-experimental-sqlite",
  "--max-old-space-size=512",
  // Its warnings say nothing to the author of a file.
  "--disable-warning=ExperimentalWarning",
  "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON",
];

const entry = () => programFile("#definitions/file/typescript/child.ts");

/** One line; undefined: there was none. */
async function readResult(
  stream: Readable,
  { largest }: { largest: number },
): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > largest) throw new Error(`is more than ${largest / 1_048_576} MiB of definitions`);
    if (chunk.at(-1) === newline) return Buffer.concat(chunks).toString();
  }
  return undefined;
}

const newline = 10;

function endedWithout(code: number | null): string {
  if (code === 0 || code === unsettled) {
    return "ended before it had definitions: it calls process.exit, or awaits what never comes";
  }
  return `ended with ${code === null ? "a signal" : `exit code ${code}`} before it had definitions`;
}

/** Node's exit code when a top-level await never settles. */
const unsettled = 13;
