/**
 * Measures the time until `vedette start` is ready, and until each of its twelve sentinels serves: from nothing
 * (neither data nor compiled code), and again on what that start has left; and the memory of all its processes when it
 * has been at rest since then. Free ports, else the settings of `npm start`.
 *
 * BENCH_ROUNDS: how often. BENCH_BESIDE: another checkout with its packages, whose starts are measured in turns.
 * BENCH_REST_SECONDS: how long it rests, after the second start.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { freePorts } from "../test/support/program/program.ts";
import { makeTempDir } from "../test/support/temp-dir.ts";
import { countFrom, median, type ProcessMemory, readMemory } from "./measure.ts";
import { finishBench, reportFigure, reportTable, startBench } from "./run.ts";

const rounds = countFrom("BENCH_ROUNDS", 5);
const restMs = countFrom("BENCH_REST_SECONDS", 60) * 1_000;
const limitMs = 120_000;
const own = path.resolve(import.meta.dirname, "..");
const beside = process.env["BENCH_BESIDE"];

/** `memory`: of each process at rest; empty if it did not rest. */
type Taken = { readyMs: number; servingMs: number; memory: ProcessMemory[] };

/** Starts the program of a checkout with its data in `dir`, and ends it again after a rest. */
async function start(checkout: string, dir: string, rest: number): Promise<Taken> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [path.join(checkout, "bin", "vedette.js"), "start"], {
    cwd: dir,
    env: {
      PATH: process.env["PATH"],
      ...freePorts,
      VEDETTE_FLEET__PROCESS__BASE_PORT: "0",
      VEDETTE_DATA_DIR: path.join(dir, "data"),
      NODE_COMPILE_CACHE: path.join(dir, "compiled"),
    },
    stdio: ["ignore", "pipe", "inherit"],
    timeout: limitMs + rest,
  });
  const ended = once(child, "exit");
  try {
    const lines = createInterface({ input: child.stdout });
    const ready = new Promise<void>((resolve) => {
      lines.on("line", (line) => line.includes('"msg":"vedette is ready"') && resolve());
    });
    await Promise.race([ready, ended.then(() => Promise.reject(new Error("it did not start")))]);
    const readyMs = performance.now() - startedAt;
    await untilAllServe(path.join(dir, "data", "sentinels"), startedAt + limitMs);
    const servingMs = performance.now() - startedAt;
    await delay(rest);
    return { readyMs, servingMs, memory: rest > 0 ? readMemory(child.pid ?? 0) : [] };
  } finally {
    child.kill("SIGTERM");
    await ended;
  }
}

async function untilAllServe(states: string, deadline: number): Promise<void> {
  const files = readdirSync(states).filter((name) => name.endsWith(".json"));
  for (const file of files) {
    while (!(await serves(path.join(states, file)))) {
      if (performance.now() > deadline) throw new Error(`${file}: it does not serve`);
      await delay(20);
    }
  }
}

async function serves(file: string): Promise<boolean> {
  const { publicPort } = JSON.parse(readFileSync(file, "utf8")) as { publicPort: number };
  const address = `http://127.0.0.1:${publicPort}/.sentinel/health`;
  return fetch(address, { signal: AbortSignal.timeout(2_000) }).then(
    async (answer) => {
      await answer.body?.cancel();
      return answer.ok;
    },
    () => false,
  );
}

type Figures = { first: Taken[]; again: Taken[] };

async function measure(checkout: string, { first, again }: Figures): Promise<void> {
  const dir = makeTempDir();
  try {
    first.push(await start(checkout, dir.path, 0));
    again.push(await start(checkout, dir.path, restMs));
  } finally {
    dir.remove();
  }
}

function rowOf(what: string, taken: readonly Taken[]) {
  const ready = taken.map(({ readyMs }) => readyMs);
  return {
    what,
    "ready s": toSeconds(median(ready)),
    "from–to s": `${toSeconds(Math.min(...ready))}–${toSeconds(Math.max(...ready))}`,
    "all serve s": toSeconds(median(taken.map(({ servingMs }) => servingMs))),
  };
}

const parts = {
  sentinels: /sentinel\/main/,
  analytics: /embedded-server/,
  Restate: /restate-server/,
  Postgres: /postgres/,
  program: /vedette\.js start/,
};

/** Medians of the rounds, in MB. A page that several processes share counts in each of them, in `pss` by its share. */
function memoryRows(taken: readonly Taken[]) {
  const sumOf = (kind: "rssMb" | "pssMb", part: RegExp) =>
    median(
      taken.map(({ memory }) =>
        memory.filter(({ command }) => part.test(command)).reduce((sum, one) => sum + one[kind], 0),
      ),
    );
  return Object.entries({ ...parts, all: /./ }).map(([what, part]) => {
    return { what, pss: Math.round(sumOf("pssMb", part)), rss: Math.round(sumOf("rssMb", part)) };
  });
}

function toSeconds(ms: number): string {
  return (ms / 1_000).toFixed(1);
}

startBench("start");
const checkouts = [own, ...(beside === undefined ? [] : [beside])];
const figures = new Map(checkouts.map((checkout) => [checkout, { first: [], again: [] }]));
for (let round = 0; round < rounds; round += 1) {
  for (const [checkout, taken] of figures) await measure(checkout, taken);
}
for (const [checkout, { first, again }] of figures) {
  const title = checkout === own ? "This program" : `The program in ${checkout}`;
  reportTable(title, [rowOf("from nothing", first), rowOf("again", again)]);
  reportTable(`${title}: memory at rest, MB`, memoryRows(again));
}
const { first, again } = figures.get(own) as Figures;
const servingOf = (taken: readonly Taken[]) =>
  median(taken.map(({ servingMs }) => servingMs)) / 1_000;
reportFigure("all sentinels serve, from nothing", servingOf(first), { unit: "s" });
reportFigure("all sentinels serve, again", servingOf(again), { unit: "s" });
const readyOf = (taken: readonly Taken[]) => median(taken.map(({ readyMs }) => readyMs)) / 1_000;
reportFigure("ready from nothing", readyOf(first), { atMost: 4, unit: "s" });
reportFigure("ready again", readyOf(again), { atMost: 3, unit: "s" });
// 0.6 times what it was when each store was started with the program: 1,090 MB.
reportFigure("memory at rest", memoryRows(again).at(-1)?.pss, { atMost: 654, unit: "MB" });
finishBench();
