/** Starts and finishes every bench: the machine that it runs on, and if each figure meets its aim. */
import { describeMachine, isQuiet, readLoad, readMachine, watchOthers } from "./machine.ts";

/** The aim of a figure, in the unit in which it is reported. */
export type Aim = ({ atLeast: number } | { atMost: number } | { under: number }) & {
  unit?: string;
};

/** By how much of the aim two runs of the same program may differ: such a miss is told, and is no failure. */
const tolerance = 0.1;

const lookMs = 1_000;

/**
 * Call it before anything is started: it tells the machine and looks for a second who else uses it. When the
 * process ends, it tells the load and whether the machine was quiet before and is now.
 */
export function beginBench(): void {
  const machine = readMachine();
  console.log(describeMachine(machine));
  const before = watchOthers(lookMs);
  if (!isQuiet(before)) console.log(`NOT QUIET: others use ${before.toFixed(1)} processors`);
  process.once("exit", () => {
    console.log(`load ${machine.load.toFixed(1)} before, ${readLoad().toFixed(1)} at the end`);
    const after = watchOthers(lookMs);
    const noise = describeNoise(before, after);
    if (noise !== undefined) console.log(noise);
  });
}

/** Undefined if the machine was quiet both times. */
export function describeNoise(before: number, after: number): string | undefined {
  if (isQuiet(before) && isQuiet(after)) return undefined;
  const used = `${before.toFixed(1)} processors before it, ${after.toFixed(1)} after it`;
  return `NOT QUIET: others used ${used}: its times are no figures to publish`;
}

/**
 * Prints whether the aim is met; undefined if this run did not measure it. Missed by more than a tenth, the
 * bench ends with exit code 1.
 */
export function judge(what: string, found: number | undefined, aim: Aim): void {
  console.log(describeVerdict(what, found, aim));
  if (found !== undefined && decide(found, aim) === "missed") process.exitCode = 1;
}

/** `close`: missed by at most a tenth of the aim. A figure that is no number has missed it. */
export function decide(found: number, aim: Aim): "met" | "close" | "missed" {
  if ("atLeast" in aim) {
    if (found >= aim.atLeast) return "met";
    return found >= aim.atLeast * (1 - tolerance) ? "close" : "missed";
  }
  const limit = "atMost" in aim ? aim.atMost : aim.under;
  if (found < limit || ("atMost" in aim && found === limit)) return "met";
  // Nothing is close to none: one lost event where none may be lost is a failure.
  return limit > 0 && found <= limit * (1 + tolerance) ? "close" : "missed";
}

export function describeVerdict(what: string, found: number | undefined, aim: Aim): string {
  if (found === undefined) return `not measured: ${what} (aim: ${describeLimit(aim)})`;
  const outcome = decide(found, aim);
  const verdict = `${outcome === "met" ? "MET" : "MISSED"}: ${what}: ${toText(found, aim)}`;
  const excuse = outcome === "close" ? ", missed by no more than a tenth" : "";
  return `${verdict} (aim: ${describeLimit(aim)}${excuse})`;
}

function describeLimit(aim: Aim): string {
  if ("atLeast" in aim) return `at least ${toText(aim.atLeast, aim)}`;
  if ("atMost" in aim) return `at most ${toText(aim.atMost, aim)}`;
  return `under ${toText(aim.under, aim)}`;
}

/** With as many digits as tell a figure from its aim, and no more. */
function toText(value: number, { unit }: Aim): string {
  const digits = Math.abs(value) >= 100 ? 1 : 3;
  const text = value.toLocaleString("en-US", { maximumFractionDigits: digits });
  return unit === undefined ? text : `${text} ${unit}`;
}
