/**
 * The same rollout with other engines from npm, in the same run: every engine lists the fleet, synchronizes
 * the table, deploys with 100 in flight by the same driver call and the same two writes to `sentinels`, and
 * stores each result durably. The table is verified after every rollout.
 *
 * What each guarantees. All sync their durable data to disk, and all may repeat a deploy that a crash
 * interrupts.
 * - Vedette: each deploy is a durable execution, one at a time per sentinel, which may sleep and wait for
 *   signals across crashes; waves, and a Cancel that is effective once answered.
 * - DBOS, a queue: each deploy is a durable workflow, started by a queue that bounds how many run.
 * - DBOS, a workflow each: the same without a queue: the parent's process bounds how many run.
 * - DBOS, a step each: one workflow for all; a deploy is a step, which cannot wait durably.
 * - BullMQ: a job each in a Redis that syncs every write. A job of a dead worker restarts from its beginning,
 *   30 s later by default; its progress is not durable, and a sentinel's jobs are not ordered.
 *
 * Install the packages of the others first: `npm ci --prefix bench/peers`.
 *
 * BENCH_SIZE: size of the fleet; BENCH_ROUNDS: rounds after the warm-up.
 */
import { createEngineParts, type Engine, type StartEngines } from "./engine.ts";
import { callRollout, checkFleet, createFleet, type Servers, withServers } from "./fixture.ts";
import { countFrom, median } from "./measure.ts";
import { loadPeer } from "./packages.ts";
import { finishBench, reportFigure, reportTable, startBench } from "./run.ts";

const { startDbos } = await loadPeer<{ startDbos: StartEngines }>("dbos.ts");
const { startBullmq } = await loadPeer<{ startBullmq: StartEngines }>("bullmq.ts");

const size = countFrom("BENCH_SIZE", 5_000);
const rounds = countFrom("BENCH_ROUNDS", 3);
const warmUpSize = Math.min(size, 500);

/** The aims: our time against that of an engine. */
const mostTimes = { "DBOS, a step each": 0.7, "BullMQ, a job each": 1 };

const fleet = createFleet();

function ours({ ingressUrl }: Servers): Engine {
  const run = async (image: string) => {
    const body = { image, wave_percentages: [100] };
    const answer = await callRollout({ url: ingressUrl, handler: "Rollout", body });
    if (answer["state"] !== "completed") throw new Error(JSON.stringify(answer));
  };
  return { name: "Vedette", run };
}

/** Runs one rollout and returns its duration. Flushes data that the engines before have not written yet. */
async function time(engine: Engine, servers: Servers, fleetSize: number): Promise<number> {
  await fleet.sizeTo(fleetSize);
  const image = fleet.image();
  await servers.database.query("VACUUM sentinels");
  await servers.database.query("CHECKPOINT");
  const startedAt = performance.now();
  await engine.run(image);
  const wallMs = performance.now() - startedAt;
  await checkFleet(servers.database, image, fleetSize);
  await engine.tidy?.();
  return wallMs;
}

function report(times: ReadonlyMap<string, number[]>): void {
  const own = median(times.get("Vedette") ?? []);
  const rows = [...times].map(([engine, taken]) => ({
    engine,
    sentinels: size,
    rounds: taken.length,
    "median s": (median(taken) / 1_000).toFixed(1),
    "ms each": (median(taken) / size).toFixed(2),
    "from–to s": `${(Math.min(...taken) / 1_000).toFixed(1)}–${(Math.max(...taken) / 1_000).toFixed(1)}`,
    "times ours": (median(taken) / own).toFixed(2),
  }));
  reportTable(`Rollouts of ${size} sentinels, medians of ${rounds} rounds`, rows);
  for (const [engine, taken] of times) {
    reportFigure(`a sentinel: ${engine}`, median(taken) / size, { unit: "ms" });
  }
  for (const [engine, atMost] of Object.entries(mostTimes)) {
    const taken = times.get(engine);
    // Without a Redis there is no BullMQ.
    const ratio = taken && own / median(taken);
    reportFigure(`against ${engine}`, ratio, { atMost, unit: "times" });
  }
}

startBench("peers");
await withServers({ fleet }, async (servers) => {
  const parts = createEngineParts(servers, fleet);
  const engines = [ours(servers), ...(await startDbos(parts)), ...(await startBullmq(parts))];
  const times = new Map(engines.map(({ name }) => [name, [] as number[]]));
  for (const engine of engines) await time(engine, servers, warmUpSize);
  for (let round = 0; round < rounds; round++) {
    // Each round starts with another engine, so that none always follows the same one.
    const order = engines.map((_, i) => engines[(i + round) % engines.length]);
    for (const engine of order) {
      if (engine === undefined) continue;
      times.get(engine.name)?.push(await time(engine, servers, size));
    }
  }
  report(times);
});
finishBench();
process.exit();
