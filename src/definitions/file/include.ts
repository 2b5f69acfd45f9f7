/** Loads a file of definitions and all that it includes. */
import { glob, stat } from "node:fs/promises";
import path from "node:path";
import { DefinitionsError, type Fault } from "./fault.ts";
import { loadSource, type Source } from "./source.ts";
import { readTop, type Top } from "./top.ts";

export type Loaded = {
  /** In the order in which they are included, each file once. */
  sources: { source: Source; top: Top }[];
  faults: Fault[];
};

const mostFiles = 1_000;
const searchWithinMs = 10_000;

/** Names are relative to `directory`. A file that cannot be read is among the faults. */
export async function loadAll(root: string, directory: string): Promise<Loaded> {
  const loaded: Loaded = { sources: [], faults: [] };
  const loading = { directory, loaded, known: new Set<string>() };
  await loadOne(root, { around: [], ...loading });
  return loaded;
}

type Loading = {
  directory: string;
  /** The files that include this one, the outermost first. */
  around: readonly string[];
  known: Set<string>;
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
  const { loaded, around, known } = loading;
  const complain = (message: string) =>
    loaded.faults.push(source.faultAt(["include", index], { where: `include.${index}`, message }));
  const files = await expand(pattern, path.dirname(source.file)).catch((error: unknown) => {
    if (!(error instanceof RangeError)) throw error;
    complain(error.message);
  });
  if (files === undefined) return;
  if (files.length === 0) complain("matches no file: it is relative to the file that has it");
  for (const file of files) {
    if (around.includes(file)) complain(`makes a circle: ${circleOf(file, loading)}`);
    else if (!known.has(file)) await loadOne(file, loading);
  }
}

function circleOf(file: string, { around, directory }: Loading): string {
  const circle = [...around.slice(around.indexOf(file)), file];
  return circle.map((one) => nameOf(one, directory)).join(" includes ");
}

/** The files that match, sorted. Throws `RangeError` when it is no pattern of files, or matches too many. */
async function expand(pattern: string, cwd: string): Promise<string[]> {
  if (/^[a-z][a-z+.-]+:/i.test(pattern)) throw new RangeError("has to be files here, no address");
  const endMs = performance.now() + searchWithinMs;
  const found: string[] = [];
  for await (const name of glob(pattern, { cwd, exclude: isForeign })) {
    const file = path.resolve(cwd, name);
    // A link may lead nowhere.
    if ((await stat(file).catch(() => undefined))?.isFile()) found.push(file);
    if (found.length > mostFiles) throw new RangeError(`matches more than ${mostFiles} files`);
    if (performance.now() > endMs) throw new RangeError("matches too many folders to look through");
  }
  return found.sort();
}

function isForeign(name: string): boolean {
  return ["node_modules", ".git"].includes(path.basename(name));
}
