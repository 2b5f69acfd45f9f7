import { glob, stat } from "node:fs/promises";
import path from "node:path";
import { DefinitionsError, type Fault } from "./fault.ts";
import { loadSource, type Source } from "./source.ts";
import { readTop, type Top } from "./top.ts";

export type Loaded = {
  /** The files in the order in which they are included, each once. */
  sources: { source: Source; top: Top }[];
  faults: Fault[];
};

const mostFiles = 1_000;
/** The limits of all patterns together, and of all files, each of which may be code. */
const searchWithinMs = 10_000;
const loadWithinMs = 60_000;

/** Names are relative to `directory`. A file that cannot be read is among the faults. */
export async function loadAll(root: string, directory: string): Promise<Loaded> {
  const loaded: Loaded = { sources: [], faults: [] };
  const endMs = performance.now() + loadWithinMs;
  const loading = { directory, loaded, known: new Set<string>(), time: { searchedMs: 0, endMs } };
  await loadOne(root, { around: [], ...loading });
  return loaded;
}

type Loading = {
  directory: string;
  /** The files that include this one, the outermost first. */
  around: readonly string[];
  known: Set<string>;
  time: { searchedMs: number; endMs: number };
  loaded: Loaded;
};

async function loadOne(file: string, loading: Loading): Promise<void> {
  const { directory, loaded, known } = loading;
  known.add(file);
  const source = await loadSource(file, nameOf(file, directory)).catch((error: unknown) => {
    if (!(error instanceof DefinitionsError)) throw error;
    loaded.faults.push(...error.faults);
  });
  if (source === undefined) return;
  const top = readTop(source);
  loaded.faults.push(...top.faults);
  loaded.sources.push({ source, top });
  const inner = { ...loading, around: [...loading.around, file] };
  for (const [index, pattern] of top.include.entries()) {
    await includeOne(pattern, { source, index }, inner);
  }
}

/** From `directory`, as people see it; the whole path when it lies elsewhere. */
function nameOf(file: string, directory: string): string {
  const relative = path.relative(directory, file);
  return relative.startsWith("..") ? file : relative;
}

type Include = { source: Source; index: number };

async function includeOne(
  pattern: string,
  { source, index }: Include,
  loading: Loading,
): Promise<void> {
  const { loaded, around, known, time } = loading;
  const complain = (message: string) =>
    loaded.faults.push(source.faultAt(["include", index], { where: `include.${index}`, message }));
  const startMs = performance.now();
  const endMs = startMs + searchWithinMs - time.searchedMs;
  const files = await expand(pattern, path.dirname(source.file), endMs).catch((error: unknown) => {
    if (!(error instanceof RangeError)) throw error;
    complain(error.message);
  });
  time.searchedMs += performance.now() - startMs;
  if (files === undefined) return;
  if (files.length === 0) complain("matches no file: it is relative to the file that has it");
  for (const file of files) {
    if (around.includes(file)) complain(`makes a circle: ${circleOf(file, loading)}`);
    else if (!known.has(file) && performance.now() < time.endMs) await loadOne(file, loading);
    else if (!known.has(file)) complain(`is not loaded within ${loadWithinMs / 1_000} s: use YAML`);
  }
}

function circleOf(file: string, { around, directory }: Loading): string {
  const circle = [...around.slice(around.indexOf(file)), file];
  return circle.map((one) => nameOf(one, directory)).join(" includes ");
}

/** The files that match, sorted. Throws `RangeError` when it is no pattern of files, or matches too many. */
async function expand(pattern: string, cwd: string, endMs: number): Promise<string[]> {
  if (/^[a-z][a-z+.-]+:/i.test(pattern)) throw new RangeError("has to be files here, no address");
  const found: string[] = [];
  const isOver = () => performance.now() > endMs;
  // Asked of each folder, also while nothing is found.
  const exclude = (name: string) => isForeign(name) || isOver();
  for await (const name of glob(pattern, { cwd, exclude })) {
    const file = path.resolve(cwd, name);
    // A link may lead nowhere.
    if ((await stat(file).catch(() => undefined))?.isFile()) found.push(file);
    if (found.length > mostFiles) throw new RangeError(`matches more than ${mostFiles} files`);
  }
  if (isOver()) throw new RangeError("matches too many folders to look through");
  return found.sort();
}

function isForeign(name: string): boolean {
  return ["node_modules", ".git"].includes(path.basename(name));
}
