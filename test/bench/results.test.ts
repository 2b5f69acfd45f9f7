import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { type Run, readAllResults, storeRun, toText, withRun } from "../../bench/results.ts";
import { makeTempDir } from "../support/temp-dir.ts";

const run = (over: Partial<Run> = {}): Run => ({
  source: "run",
  date: "2026-11-28",
  commit: "92d11dc2",
  machine: "2 × Xeon, 24 GB",
  load: 1.1,
  isQuiet: true,
  settings: [],
  figures: [{ name: "requests a second", value: 21_375 }],
  tables: [],
  ...over,
});

function tempFolder(): string {
  const dir = makeTempDir();
  onTestFinished(dir.remove);
  return dir.path;
}

it("a run takes the place of the one with the same settings", () => {
  const trial = run({ settings: ["BENCH_RUNS=1"] });
  const newer = run({ commit: "f00d0000" });

  expect(withRun([run(), trial], newer)).toEqual([newer, trial]);
});

it("the order of settings makes no other run", () => {
  const before = run({ settings: ["BENCH_A=1", "BENCH_B=2"] });
  const after = run({ settings: ["BENCH_B=2", "BENCH_A=1"] });

  expect(withRun([before], after)).toEqual([after]);
});

it("a stored run is read again as it was", () => {
  const folder = tempFolder();

  storeRun(folder, "sample", run());

  expect(readAllResults(folder).get("sample")).toEqual({ bench: "sample", runs: [run()] });
});

it("a file of results that has a wrong form is refused", () => {
  const folder = tempFolder();
  writeFileSync(path.join(folder, "sample.json"), '{"bench":"sample","runs":[{"date":"today"}]}');

  expect(() => readAllResults(folder)).toThrow(/date/);
});

it("each figure and each row has a line of its own", () => {
  const tables = [{ title: "Servers", rows: [{ server: "floor", "p99 ms": 1.2 }] }];

  const lines = toText({ bench: "sample", runs: [run({ tables })] }).split("\n");

  expect(lines.map((line) => line.trim())).toEqual(
    expect.arrayContaining([
      '{ "name": "requests a second", "value": 21375 }',
      '{ "server": "floor", "p99 ms": 1.2 }',
    ]),
  );
});

it("the files of the repository have the form in which runs are stored", () => {
  for (const [bench, results] of readAllResults()) {
    expect(readFileSync(`bench/results/${bench}.json`, "utf8")).toBe(toText(results));
  }
});
