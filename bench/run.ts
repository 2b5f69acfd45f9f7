/**
 * Starts and finishes every bench, and stores what it reports: `startBench`, then `reportFigure` and `reportTable`, then
 * `finishBench` as its last call. A bench that ends without that call, or of which a part failed, stores nothing and
 * its exit code is 1.
 */
import {
  describeMachine,
  describeProcessors,
  isQuiet,
  readLoad,
  readMachine,
  watchOthers,
} from "./machine.ts";
import { type Figure, type Row, type Run, resultsFolder, storeRun } from "./results.ts";
import { type Aim, describeLimit, describeVerdict, grade, toText } from "./verdict.ts";

const watchMs = 1_000;

type Cells = Record<string, string | number | boolean>;

const figures: Figure[] = [];
const tables: Run["tables"] = [];
let isFinished = false;
let failure: string | undefined;

/**
 * Call it before anything is started: it prints the machine and watches for a second who else uses it. `bench` names
 * the file of results.
 */
export function startBench(bench: string, folder = resultsFolder): void {
  const machine = readMachine();
  console.log(describeMachine(machine));
  const before = watchOthers(watchMs);
  if (!isQuiet(before)) console.log(`NOT QUIET: others use ${before.toFixed(1)} processors`);
  process.once("uncaughtExceptionMonitor", (error) => failBench(error.message));
  process.once("exit", () => {
    if (!isFinished || failure !== undefined) {
      console.error(
        `CUT OFF: ${failure ?? "it ended before its last measurement"}: nothing is stored`,
      );
      process.exitCode = 1;
      return;
    }
    const loadAtEnd = round(readLoad());
    console.log(`load ${machine.load.toFixed(1)} before, ${loadAtEnd.toFixed(1)} at the end`);
    const after = watchOthers(watchMs);
    const noise = describeNoise(before, after);
    if (noise !== undefined) console.log(noise);
    // A run that only writes a profile has measured nothing.
    if (figures.length === 0) return;
    const { commit, node, settings } = machine;
    const file = storeRun(folder, bench, {
      source: "run",
      date: new Date().toISOString().slice(0, 10),
      commit,
      machine: describeProcessors(machine),
      node,
      load: round(machine.load),
      loadAtEnd,
      others: { before: round(before), after: round(after) },
      isQuiet: noise === undefined,
      settings: [...settings],
      figures,
      tables,
    });
    console.log(`stored in ${file}; the documents take it from there: node bench/write.ts`);
  });
}

/** Undefined if the machine was quiet both times. */
export function describeNoise(before: number, after: number): string | undefined {
  if (isQuiet(before) && isQuiet(after)) return undefined;
  const used = `${before.toFixed(1)} processors before it, ${after.toFixed(1)} after it`;
  return `NOT QUIET: others used ${used}: its times are no figures to publish`;
}

/**
 * Prints and records a figure, and if it meets its aim, where it has one; undefined if this run did not measure it.
 * Missed by more than a tenth, the bench ends with exit code 1.
 */
export function reportFigure(
  name: string,
  value: number | undefined,
  aim: Aim | { unit?: string } = {},
): void {
  if (figures.some((one) => one.name === name)) throw new Error(`two figures are named ${name}`);
  const { unit } = aim;
  const figure = {
    name,
    value: value === undefined || Number.isNaN(value) ? null : round(value),
    ...(unit !== undefined && { unit }),
  };
  if (!("atLeast" in aim || "atMost" in aim || "under" in aim)) {
    console.log(`${name}: ${value === undefined ? "not measured" : toText(value, aim)}`);
    figures.push(figure);
    return;
  }
  console.log(describeVerdict(name, value, aim));
  const verdict = value === undefined ? "not measured" : grade(value, aim);
  if (verdict === "missed") process.exitCode = 1;
  figures.push({ ...figure, aim: describeLimit(aim), verdict });
}

/** Prints and records a table; of an object, the names of its rows are the first column. */
export function reportTable(title: string, rows: readonly Cells[] | Record<string, Cells>): void {
  const list = Array.isArray(rows)
    ? (rows as readonly Cells[])
    : Object.entries(rows).map(([measured, row]) => ({ measured, ...row }));
  const cells = list.map(toRow);
  console.log(title);
  console.table(cells);
  tables.push({ title, rows: cells });
}

/** For a part that failed where nothing awaits it, such as a server that died: the bench is then cut off. */
export function failBench(reason: string): void {
  failure ??= reason;
}

/** The last call of a bench: all that it measures has been reported. */
export function finishBench(): void {
  isFinished = true;
}

function toRow(cells: Cells): Row {
  const entries = Object.entries(cells).map(([name, cell]) => {
    if (typeof cell === "number") return [name, round(cell)];
    return [name, String(cell)];
  });
  return Object.fromEntries(entries);
}

/** Four digits are more than two runs agree in; whole numbers are counts, and stay. */
function round(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(4));
}
