/** The files of `bench/results/`: the figures and tables of each bench, by the settings of its run. */
import { existsSync, globSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";

export const resultsFolder = path.join(import.meta.dirname, "results");

const Row = z.record(z.string(), z.union([z.string(), z.number()]));

const Figure = z.strictObject({
  name: z.string(),
  /** Null if this run did not measure it. */
  value: z.number().nullable(),
  unit: z.string().optional(),
  /** Words, such as `at most 100 ms`; a figure without an aim has no verdict. */
  aim: z.string().optional(),
  verdict: z.enum(["met", "close", "missed", "not measured"]).optional(),
});

const Run = z.strictObject({
  /** `published by hand`: the run is older than these files, and was copied from the documents of its time. */
  source: z.enum(["run", "published by hand"]),
  /** The subject of a run that is one of several by hand. */
  title: z.string().optional(),
  date: z.iso.date(),
  commit: z.string(),
  machine: z.string(),
  node: z.string().optional(),
  load: z.union([z.number(), z.string()]),
  loadAtEnd: z.number().optional(),
  /** Processors that others used before and after it. */
  others: z.strictObject({ before: z.number(), after: z.number() }).optional(),
  /** False if others used the machine: its times are then no figures to publish. Null if nobody recorded it. */
  isQuiet: z.boolean().nullable(),
  /** Variables of the environment, such as `BENCH_ROUNDS=1`; empty for the run that the documents are about. */
  settings: z.array(z.string()),
  figures: z.array(Figure),
  tables: z.array(z.strictObject({ title: z.string(), rows: z.array(Row) })),
});

const Results = z.strictObject({ bench: z.string(), runs: z.array(Run) });

export type Row = z.infer<typeof Row>;
export type Figure = z.infer<typeof Figure>;
export type Run = z.infer<typeof Run>;
export type Results = z.infer<typeof Results>;

/** Returns all files, by the name of the bench. Throws if one is not in the form above. */
export function readAllResults(folder = resultsFolder): Map<string, Results> {
  const names = globSync("*.json", { cwd: folder }).map((file) => path.basename(file, ".json"));
  return new Map(names.toSorted().map((name) => [name, readResults(folder, name)]));
}

function readResults(folder: string, bench: string): Results {
  const file = path.join(folder, `${bench}.json`);
  if (!existsSync(file)) return { bench, runs: [] };
  return Results.parse(JSON.parse(readFileSync(file, "utf8")));
}

/** Puts the run in the place of the one with the same settings, at once: a kill leaves the file of before. */
export function storeRun(folder: string, bench: string, run: Run): string {
  const file = path.join(folder, `${bench}.json`);
  const before = readResults(folder, bench);
  writeFileSync(`${file}.new`, toText({ bench, runs: withRun(before.runs, run) }));
  renameSync(`${file}.new`, file);
  return file;
}

export function withRun(runs: readonly Run[], run: Run): Run[] {
  const key = ({ settings }: Run) => settings.toSorted().join(" ");
  const others = runs.filter((one) => key(one) !== key(run));
  return [...others, run].toSorted((a, b) => a.settings.length - b.settings.length);
}

/** JSON with each figure and each row of a table in a line of its own. */
export function toText(results: Results): string {
  const spread = JSON.stringify(results, null, 2);
  return `${spread.replaceAll(/\{[^{}[\]]*\}|\[[^{}[\]]*\]/g, (leaf) => leaf.replaceAll(/\n\s*/g, " "))}\n`;
}
