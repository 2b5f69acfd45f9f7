/**
 * The same rollout by other engines that npm offers, in the same run: every engine lists the fleet,
 * brings the table in step, deploys with 100 in flight by the same driver call and the same two writes
 * to `sentinels`, and keeps each result durably. The table is looked at after every rollout.
 *
 * What each guarantees. All sync what they promise to disk, and all may repeat a deploy that a crash
 * interrupts.
 * - Vedette: each deploy is a durable execution, one at a time per sentinel, which may sleep and wait
 *   for signals over crashes; waves, and a Cancel that holds once answered.
 * - DBOS, a queue: each deploy is a durable workflow, started by a queue that bounds how many run.
 * - DBOS, a workflow each: the same without a queue: the parent's process bounds how many run.
 * - DBOS, a step each: one workflow for all; a deploy is a step, which cannot wait durably.
 * - BullMQ: a job each in a Redis that syncs every write. A job of a dead worker begins again from its
 *   start, 30 s later by default; nothing in it is durable, and nothing orders a sentinel's jobs.
 *
 * BENCH_SIZE: the fleet; BENCH_ROUNDS: rounds after the one that warms up.
 */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DBOS } from "@dbos-inc/dbos-sdk";
import { Queue, Worker } from "bullmq";
import getPort from "get-port";
import pLimit from "p-limit";
import { createTestListing } from "../test/support/fleet-listing.ts";
import {
  callRollout,
  checkFleet,
  createFleet,
  maxParallel,
  type Servers,
  withServers,
} from "./fixture.ts";
import { countFrom, median } from "./measure.ts";

const size = countFrom("BENCH_SIZE", 5_000);
const rounds = countFrom("BENCH_ROUNDS", 3);
const warmUpSize = Math.min(size, 500);

type Contender = {
  name: string;
  run: (image: string) => Promise<void>;
  /** Forgets what it keeps of finished rollouts; not timed. */
  tidy?: () => Promise<unknown>;
};

const fleet = createFleet();

function ours({ ingressUrl }: Servers): Contender {
  const run = async (image: string) => {
    const body = { image, wave_percentages: [100] };
    const answer = await callRollout({ url: ingressUrl, handler: "Rollout", body });
    if (answer["state"] !== "completed") throw new Error(JSON.stringify(answer));
  };
  return { name: "Vedette", run };
}

const createListIds = (servers: Servers) => async () =>
  (await createTestListing(servers.database, fleet.driver).list()).map(({ id }) => id);

/** A deploy as our own service does it, without the service. */
function createDeploy({ deployer }: Servers) {
  return async (sentinelId: string, image: string) => {
    const order = { sentinelId, image, deployId: `${image}/${sentinelId}` };
    const { status } = await deployer.begin(order, 60_000);
    if (status !== "ready") throw new Error(`${sentinelId} is ${status}`);
    return status;
  };
}

async function dbos(servers: Servers): Promise<Contender[]> {
  DBOS.setConfig({
    name: "bench",
    systemDatabaseUrl: servers.databaseUrl,
    // Twice its preset: with 100 in flight the pool is not to be what it waits for.
    systemDatabasePoolSize: 20,
    logLevel: "error",
  });
  const deploy = createDeploy(servers);
  const listIds = createListIds(servers);
  const queueName = "deploys";
  const deployOne = DBOS.registerWorkflow(
    (id: string, image: string) => DBOS.runStep(() => deploy(id, image), { name: "deploy" }),
    { name: "deployOne" },
  );
  const fanOut = (name: string, each: (id: string, image: string) => Promise<unknown>) =>
    DBOS.registerWorkflow(
      async (ids: string[], image: string) => {
        const limit = pLimit(maxParallel);
        await Promise.all(ids.map((id) => limit(() => each(id, image))));
      },
      { name },
    );
  const stepEach = fanOut("stepEach", (id, image) =>
    DBOS.runStep(() => deploy(id, image), { name: id }),
  );
  const workflowEach = fanOut("workflowEach", deployOne);
  const queued = DBOS.registerWorkflow(
    async (ids: string[], image: string) => {
      const limit = pLimit(maxParallel);
      const enqueue = (id: string) => DBOS.startWorkflow(deployOne, { queueName })(id, image);
      const handles = await Promise.all(ids.map((id) => limit(() => enqueue(id))));
      await Promise.all(handles.map((handle) => limit(() => handle.getResult())));
    },
    { name: "queued" },
  );
  await DBOS.launch();
  servers.defer(() => DBOS.shutdown());
  await DBOS.registerQueue(queueName, {
    workerConcurrency: maxParallel,
    // Its preset is 1,000, with which it starts no more than 100 deploys a second.
    minPollingIntervalMs: 20,
    onConflict: "always_update",
  });
  return [
    { name: "DBOS, a queue", run: async (image) => queued(await listIds(), image) },
    { name: "DBOS, a workflow each", run: async (image) => workflowEach(await listIds(), image) },
    { name: "DBOS, a step each", run: async (image) => stepEach(await listIds(), image) },
  ];
}

async function stopRedis(redis: ChildProcess, dir: string): Promise<void> {
  if (redis.exitCode === null && redis.signalCode === null) {
    const ended = once(redis, "exit");
    redis.kill("SIGTERM");
    await ended;
  }
  rmSync(dir, { recursive: true, force: true });
}

async function bullmq(servers: Servers): Promise<Contender[]> {
  if (spawnSync("redis-server", ["--version"]).status !== 0) {
    console.log("BullMQ is left out: there is no redis-server (apt-get install redis-server)");
    return [];
  }
  const dir = mkdtempSync(path.join(tmpdir(), "vedette-bench-redis-"));
  const port = await getPort({ host: "127.0.0.1" });
  const durable = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""];
  const place = ["--port", String(port), "--bind", "127.0.0.1", "--dir", dir];
  const redis = spawn("redis-server", [...place, ...durable], { stdio: "ignore" });
  servers.defer(() => stopRedis(redis, dir));
  const deploy = createDeploy(servers);
  const listIds = createListIds(servers);
  const connection = { host: "127.0.0.1", port };
  const queue = new Queue("deploys", { connection });
  servers.defer(() => queue.close());
  const worker = new Worker<{ id: string; image: string }>(
    "deploys",
    ({ data }) => deploy(data.id, data.image),
    { connection, concurrency: maxParallel },
  );
  servers.defer(() => worker.close());
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
  const run = async (image: string) => {
    const ids = await listIds();
    const done = Promise.withResolvers<void>();
    let left = ids.length;
    const onCompleted = () => {
      if (--left === 0) done.resolve();
    };
    const onFailed = (_job: unknown, error: Error) => done.reject(error);
    worker.on("completed", onCompleted).on("failed", onFailed);
    await queue.addBulk(ids.map((id) => ({ name: "deploy", data: { id, image } })));
    await done.promise;
    worker.off("completed", onCompleted).off("failed", onFailed);
    const { completed } = await queue.getJobCounts("completed");
    if (completed !== ids.length) throw new Error(`BullMQ keeps ${completed} results`);
  };
  const tidy = () => queue.clean(0, 0, "completed");
  return [{ name: "BullMQ, a job each", run, tidy }];
}

/** Runs one rollout and answers how long it took. What others have left unwritten is written before. */
async function time(contender: Contender, servers: Servers, fleetSize: number): Promise<number> {
  fleet.sizeTo(fleetSize);
  const image = fleet.image();
  await servers.database.query("VACUUM sentinels");
  await servers.database.query("CHECKPOINT");
  const startedAt = performance.now();
  await contender.run(image);
  const wallMs = performance.now() - startedAt;
  await checkFleet(servers.database, image, fleetSize);
  await contender.tidy?.();
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
  console.table(rows);
}

await withServers(fleet, async (servers) => {
  const contenders = [ours(servers), ...(await dbos(servers)), ...(await bullmq(servers))];
  const times = new Map(contenders.map(({ name }) => [name, [] as number[]]));
  for (const contender of contenders) await time(contender, servers, warmUpSize);
  for (let round = 0; round < rounds; round++) {
    // Another one begins each round, so that none always follows the same.
    const order = contenders.map((_, i) => contenders[(i + round) % contenders.length]);
    for (const contender of order) {
      if (contender === undefined) continue;
      times.get(contender.name)?.push(await time(contender, servers, size));
    }
  }
  report(times);
});
process.exit();
