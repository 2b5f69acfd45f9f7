/** Describes the machine of a bench: commit, Node, processors, memory, load, and other users of the processors. */
import { execFileSync } from "node:child_process";
import { cpus, loadavg, totalmem } from "node:os";

/** More than this share of one processor, used by others, makes a figure doubtful. */
const quietBelowCores = 0.1;

const resultPaths = [":(top,exclude)bench/results", ":(top,exclude)docs/measured.md"];

type Machine = {
  commit: string;
  node: string;
  processor: string;
  processors: number;
  memoryBytes: number;
  load: number;
  /** Settings of the bench, such as `BENCH_ROUNDS=1`: without them it has other figures. */
  settings: readonly string[];
};

export function describeMachine(machine: Machine): string {
  const { commit, node, load, settings } = machine;
  const parts = [`commit ${commit}`, `Node ${node}`, describeProcessors(machine)];
  return [...parts, `load ${load.toFixed(1)}`, ...settings].join("; ");
}

export function describeProcessors({ processor, processors, memoryBytes }: Machine): string {
  return `${processors} × ${processor}, ${Math.round(memoryBytes / 2 ** 30)} GB`;
}

export function readMachine(): Machine {
  const found = cpus();
  return {
    commit: readCommit(),
    node: process.version,
    processor: found[0]?.model.trim() ?? "unknown processor",
    processors: found.length,
    memoryBytes: totalmem(),
    load: readLoad(),
    settings: Object.entries(process.env)
      .filter(([name]) => /^(?:BENCH|FUZZ)_/.test(name))
      .map(([name, value]) => `${name}=${value}`),
  };
}

/** Reads the load of the last minute. */
export function readLoad(): number {
  return loadavg()[0] ?? 0;
}

/**
 * With ` + changes` when something is not committed, as it is then not what the commit has; results of other benches
 * do not count.
 */
function readCommit(): string {
  const git = (...args: string[]) =>
    execFileSync("git", args, {
      cwd: import.meta.dirname,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      timeout: 30_000,
    }).trim();
  try {
    const commit = git("rev-parse", "--short=8", "HEAD");
    const changes = git("status", "--porcelain", "--", ":(top)", ...resultPaths);
    return changes === "" ? commit : `${commit} + changes`;
  } catch {
    return "unknown";
  }
}

export type ProcessorTimes = { atMs: number; busyMs: number; ownMs: number };

/** Returns the processors that other processes used between the two, on average. */
export function coresOfOthers(before: ProcessorTimes, after: ProcessorTimes): number {
  const othersMs = after.busyMs - before.busyMs - (after.ownMs - before.ownMs);
  return Math.max(0, othersMs / (after.atMs - before.atMs));
}

export function isQuiet(cores: number): boolean {
  return cores <= quietBelowCores;
}

/** Watches for so long, and blocks meanwhile: the bench must not work, as its servers count as others. */
export function watchOthers(watchMs: number): number {
  const before = readProcessorTimes();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, watchMs);
  return coresOfOthers(before, readProcessorTimes());
}

function readProcessorTimes(): ProcessorTimes {
  const { user, system } = process.cpuUsage();
  const busyMs = cpus().reduce((sum, { times }) => {
    return sum + times.user + times.nice + times.sys + times.irq;
  }, 0);
  return { atMs: performance.now(), busyMs, ownMs: (user + system) / 1_000 };
}
