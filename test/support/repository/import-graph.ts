/** Which file of src imports which, read from their text. */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";

export type Import = { from: string; to: string };

const importPattern = /\b(?:from|import)\s*\(?\s*"([^"]+)"/g;

/** What a file names after `from` and `import`. */
export function specifiersOf(file: string): string[] {
  return [...readFileSync(file, "utf8").matchAll(importPattern)].map((match) => match[1] ?? "");
}

export function readImports(): Import[] {
  return globSync("src/**/*.{ts,tsx}").flatMap((file) =>
    specifiersOf(file).flatMap((specifier) => {
      const to = resolve(file, specifier);
      return to === null || to === file ? [] : [{ from: file, to }];
    }),
  );
}

const loadPattern = /^(?:import|export)\s(?!type\b)(?:[^"';()=]*?\bfrom\s)?"([^"]+)"/gm;

/** The packages and modules of Node that a program loads at its start, with all that it imports; types load nothing. */
export function modulesOf(entry: string): string[] {
  const files = new Set([entry]);
  const modules = new Set<string>();
  for (const file of files) {
    for (const [, specifier = ""] of readFileSync(file, "utf8").matchAll(loadPattern)) {
      const to = resolve(file, specifier);
      if (to !== null) files.add(to);
      else modules.add(specifier);
    }
  }
  return [...modules].sort();
}

function resolve(file: string, specifier: string): string | null {
  if (specifier.startsWith("#")) return path.join("src", specifier.slice(1));
  return specifier.startsWith(".") ? path.join(path.dirname(file), specifier) : null;
}

/** `src`, `src/monitor`, `src/monitor/check`, … */
export function foldersOf(imports: readonly Import[]): string[] {
  const folders = new Set<string>();
  for (const { from } of imports) {
    for (let at = path.dirname(from); at !== "."; at = path.dirname(at)) folders.add(at);
  }
  return [...folders].sort();
}

/**
 * A circle between the children of a folder, a folder in it standing for all that it holds; null: there is
 * none.
 */
export function findCircle(imports: readonly Import[], folder: string): string[] | null {
  const graph = new Map<string, Set<string>>();
  for (const { from, to } of imports) {
    const [child, other] = [childOf(folder, from), childOf(folder, to)];
    if (child === null || other === null || child === other) continue;
    graph.set(child, (graph.get(child) ?? new Set()).add(other));
  }
  const cleared = new Set<string>();
  for (const start of graph.keys()) {
    const circle = follow({ graph, cleared }, [start]);
    if (circle !== null) return circle;
  }
  return null;
}

type Search = { graph: ReadonlyMap<string, ReadonlySet<string>>; cleared: Set<string> };

function follow(search: Search, trail: readonly string[]): string[] | null {
  const last = trail.at(-1) ?? "";
  for (const next of search.graph.get(last) ?? []) {
    if (trail.includes(next)) return [...trail.slice(trail.indexOf(next)), next];
    if (search.cleared.has(next)) continue;
    const circle = follow(search, [...trail, next]);
    if (circle !== null) return circle;
  }
  search.cleared.add(last);
  return null;
}

function childOf(folder: string, file: string): string | null {
  if (!file.startsWith(`${folder}/`)) return null;
  return file.slice(folder.length + 1).split("/")[0] ?? null;
}
