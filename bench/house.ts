/**
 * `npm run house`: how `src` is cut, each figure beside its target. It reads text and imports alone and always exits
 * with 0: a target is an aim for the next change, not a gate.
 */
import { globSync, readFileSync, statSync } from "node:fs";
import { type Import, readImports } from "../test/support/repository/import-graph.ts";
import { type Aim, describeVerdict } from "./verdict.ts";

/** Start of the code that an image passes: a rollout's object and services, a sentinel's object, one driver. */
const doors = [
  "src/rollout/object.ts",
  "src/rollout/services.ts",
  "src/fleet/deploys/service.ts",
  "src/fleet/drivers/http.ts",
];
const slicesOnTheWay = /^src\/(?:rollout|fleet|registry|ci)\/(?!(?:.*[/-])?contract\.ts$)/;

/** A file of 40 lines or fewer is short. */
const shortLines = 40;

type Source = { file: string; text: string };

/** Comments are those that fill lines of their own; a line of a text that looks like one counts as one. */
export function countLines(text: string): { raw: number; code: number } {
  const lines = text.trimEnd().split("\n");
  const code = withoutComments(text)
    .split("\n")
    .filter((line) => line.trim() !== "");
  return { raw: lines.length, code: code.length };
}

function withoutComments(text: string): string {
  return text.replaceAll(/^\s*\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
}

/** The number of files that exactly one other file imports, types included. */
export function countSoleImports(imports: readonly Import[]): number {
  const importers = Map.groupBy(imports, ({ to }) => to);
  return [...importers.values()].filter((of) => new Set(of.map(({ from }) => from)).size === 1)
    .length;
}

/**
 * The files on an image's way in: all that the doors import, by any number of steps within the slices that an image
 * passes, and whose code speaks of an image. Contracts, drivers that a fleet does not have and what only carries
 * numbers are not on it.
 */
export function findWay(sources: readonly Source[], imports: readonly Import[]): string[] {
  const targets = Map.groupBy(imports, ({ from }) => from);
  const reached = new Set<string>(doors);
  for (const file of reached) {
    for (const { to } of targets.get(file) ?? []) if (slicesOnTheWay.test(to)) reached.add(to);
  }
  return sources
    .filter(({ file, text }) => reached.has(file) && /image/i.test(withoutComments(text)))
    .map(({ file }) => file);
}

function printHouse(): void {
  const files = globSync("src/**/*.{ts,tsx}");
  const sources = files.map((file) => ({ file, text: readFileSync(file, "utf8") }));
  const counts = sources.map(({ text }) => countLines(text));
  const imports = readImports();
  const documents = globSync(["*.md", "docs/**/*.md"]);
  const percent = (count: number) => Math.round((count / files.length) * 1_000) / 10;
  const sum = (of: readonly number[]) => of.reduce((total, one) => total + one, 0);
  const print = (subject: string, found: number, aim: Aim) =>
    console.log(describeVerdict(subject, found, aim));

  print("lines of src", sum(counts.map(({ raw }) => raw)), { atMost: 90_000 });
  console.log(`        of them neither blank nor comment: ${sum(counts.map(({ code }) => code))}`);
  print("files of src", files.length, { atMost: 900 });
  const short = counts.filter(({ raw }) => raw <= shortLines).length;
  print(`files of at most ${shortLines} lines`, percent(short), { atMost: 15, unit: "%" });
  const sole = percent(countSoleImports(imports));
  print("files that one file imports", sole, { atMost: 25, unit: "%" });
  print("files on an image's way in", findWay(sources, imports).length, { atMost: 25 });
  const kilobytes = sum(documents.map((file) => statSync(file).size)) / 1_000;
  print("documents", Math.round(kilobytes), { atMost: 236, unit: "kB" });
}

if (import.meta.main) printHouse();
