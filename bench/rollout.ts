/**
 * Measures a rollout whose deploys take no time, that is, our own overhead. BENCH_SIZES: sizes of fleets, separated
 * by commas; BENCH_ROUNDS: tries of each; BENCH_DRIVER: `http` or `http-told`, a fleet in another process, which
 * answers orders with the state of the deploy in the latter.
 */
import {
  callRollout,
  checkFleet,
  createFleet,
  type Fleet,
  type Servers,
  withServers,
} from "./fixture.ts";
import { startHttpFleet } from "./http-fleet.ts";
import { countFrom, countsFrom, cpuMsOf, forgetPeak, median, peakMbOf } from "./measure.ts";
import { finishBench, reportFigure, reportTable, startBench } from "./run.ts";

/** Limits: the time per sentinel at 10,000, and its ratio between 50,000 and 5,000. */
const limits = { wallMsAt10k: 1.5, growth: 1.2 };

const sizes = countsFrom("BENCH_SIZES", [5_000, 10_000, 50_000]);
const rounds = countFrom("BENCH_ROUNDS", 3);
const driver = process.env["BENCH_DRIVER"];

type Sample = {
  wallMs: number;
  nodeMs: number;
  restateMs: number;
  postgresMs: number;
  nodeMb: number;
  restateMb: number;
};

async function rollOut(fleet: Fleet, servers: Servers, size: number): Promise<Sample> {
  await fleet.sizeTo(size);
  const image = fleet.image();
  const restatePid = servers.restatePid();
  const readCpu = () => ({
    node: process.cpuUsage(),
    restate: cpuMsOf(restatePid),
    postgres: cpuMsOf(servers.postgresPid()),
  });
  forgetPeak(process.pid);
  forgetPeak(restatePid);
  const before = readCpu();
  const startedAt = performance.now();
  const answer = await callRollout({
    url: servers.ingressUrl,
    handler: "Rollout",
    body: { image },
  });
  const wallMs = performance.now() - startedAt;
  const after = readCpu();
  if (answer["state"] !== "completed") throw new Error(`incomplete: ${JSON.stringify(answer)}`);
  await checkFleet(servers.database, image, size);
  const { user, system } = process.cpuUsage(before.node);
  return {
    wallMs,
    nodeMs: (user + system) / 1_000,
    restateMs: after.restate - before.restate,
    postgresMs: after.postgres - before.postgres,
    nodeMb: peakMbOf(process.pid),
    restateMb: peakMbOf(restatePid),
  };
}

function toRow(size: number, samples: readonly Sample[]) {
  const middle = (of: (sample: Sample) => number) => median(samples.map(of));
  return {
    sentinels: size,
    rounds: samples.length,
    "wall s": (middle(({ wallMs }) => wallMs) / 1_000).toFixed(1),
    "wall ms each": (middle(({ wallMs }) => wallMs) / size).toFixed(3),
    "from–to": spread(samples.map(({ wallMs }) => wallMs / size)),
    "node cpu ms each": (middle(({ nodeMs }) => nodeMs) / size).toFixed(3),
    "restate cpu ms each": (middle(({ restateMs }) => restateMs) / size).toFixed(3),
    "postgres cpu ms each": (middle(({ postgresMs }) => postgresMs) / size).toFixed(3),
    "node peak MB": Math.round(Math.max(...samples.map(({ nodeMb }) => nodeMb))),
    "restate peak MB": Math.round(Math.max(...samples.map(({ restateMb }) => restateMb))),
  };
}

function spread(values: readonly number[]): string {
  return `${Math.min(...values).toFixed(2)}–${Math.max(...values).toFixed(2)}`;
}

/** By size: the time of a sentinel. Empty for a size that was not measured. */
function reportSizes(eachMs: ReadonlyMap<number, number>): void {
  const [few, some, many] = [5_000, 10_000, 50_000].map((size) => eachMs.get(size));
  reportFigure("a sentinel of 5,000", few, { unit: "ms" });
  reportFigure("a sentinel of 50,000", many, { unit: "ms" });
  reportFigure("a sentinel of 10,000", some, { atMost: limits.wallMsAt10k, unit: "ms" });
  const growth = few === undefined || many === undefined ? undefined : many / few;
  reportFigure("a sentinel of 50,000 against one of 5,000", growth, {
    atMost: limits.growth,
    unit: "times",
  });
}

startBench("rollout");
const fleet =
  driver === undefined ? createFleet() : await startHttpFleet({ tells: driver === "http-told" });
await withServers({ fleet }, async (servers) => {
  await rollOut(fleet, servers, 1_000);
  const samples = new Map(sizes.map((size) => [size, [] as Sample[]]));
  for (let round = 0; round < rounds; round++) {
    for (const [size, taken] of samples) taken.push(await rollOut(fleet, servers, size));
  }
  const title = `Rollouts whose deploys take no time${driver === undefined ? "" : `, driver ${driver}`}`;
  reportTable(
    title,
    [...samples].map(([size, taken]) => toRow(size, taken)),
  );
  const eachMs = [...samples].map(
    ([size, taken]) => [size, median(taken.map(({ wallMs }) => wallMs)) / size] as const,
  );
  reportSizes(new Map(eachMs));
});
finishBench();
process.exit();
