/** Resource usage of processes, and statistics of many tries. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const tickMs = 10;

/**
 * Processor time of a process and all its descendants, including those that have ended. Zero without /proc.
 */
export function cpuMsOf(pid: number): number {
  const processes = readProcesses();
  const ticksOf = (root: number): number => {
    const own = processes.get(root)?.ticks ?? 0;
    const children = [...processes].filter(([, { parent }]) => parent === root);
    return children.reduce((sum, [child]) => sum + ticksOf(child), own);
  };
  return ticksOf(pid) * tickMs;
}

type ProcessTimes = { parent: number; ticks: number };

function readProcesses(): Map<number, ProcessTimes> {
  const processes = new Map<number, ProcessTimes>();
  for (const name of listOrNothing("/proc").filter((entry) => /^\d+$/.test(entry))) {
    const fields = readOrNothing(`/proc/${name}/stat`).split(") ").pop()?.split(" ") ?? [];
    // utime and stime, of the process and of its ended children.
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    processes.set(Number(name), { parent: Number(fields[1]), ticks });
  }
  return processes;
}

/** Peak resident memory since `forgetPeak`, or since the process started. */
export function peakMbOf(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readOrNothing(`/proc/${pid}/status`))?.[1] ?? 0) / 1024;
}

export function forgetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, "5");
  } catch {
    // There is no /proc, or we may not write to it: then the peak is that of the whole run.
  }
}

function readOrNothing(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

function listOrNothing(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** A whole number of at least 1 from the environment. Throws when it is invalid. */
export function countFrom(name: string, preset: number): number {
  return countsFrom(name, [preset])[0] ?? preset;
}

export function countsFrom(name: string, preset: readonly number[]): number[] {
  const counts = process.env[name]?.split(",").map(Number) ?? [...preset];
  if (counts.some((count) => !Number.isInteger(count) || count < 1)) {
    throw new Error(`${name} must be whole numbers of at least 1, with commas between them`);
  }
  return counts;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

export function percentile(values: readonly number[], p: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil((sorted.length * p) / 100) - 1] ?? Number.NaN;
}

/** Current resident memory. */
export function residentMbOf(pid: number): number {
  return Math.round(
    Number(/VmRSS:\s+(\d+)/.exec(readOrNothing(`/proc/${pid}/status`))?.[1] ?? 0) / 1024,
  );
}

export type ProcessMemory = { command: string; rssMb: number; pssMb: number };

/**
 * Reads the resident memory of a process and all its descendants: `rssMb` with all pages that it shares, `pssMb` with its
 * share of them, so that a sum counts each page once. Other programs that run the same files make the shares smaller.
 */
export function readMemory(pid: number): ProcessMemory[] {
  const processes = readProcesses();
  const family = (root: number): number[] => [
    root,
    ...[...processes].filter(([, { parent }]) => parent === root).flatMap(([one]) => family(one)),
  ];
  return family(pid).map((one) => {
    const rollup = readOrNothing(`/proc/${one}/smaps_rollup`);
    const of = (name: string) =>
      Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(rollup)?.[1] ?? 0) / 1024;
    const command = readOrNothing(`/proc/${one}/cmdline`).replaceAll("\0", " ").trim();
    return { command, rssMb: of("Rss"), pssMb: of("Pss") };
  });
}

/** Returns percentiles in ms, to a tenth. */
export function spread(times: readonly number[]) {
  const rounded = (p: number) => Number(percentile(times, p).toFixed(1));
  return { p50: rounded(50), p90: rounded(90), p99: rounded(99), max: rounded(100) };
}
