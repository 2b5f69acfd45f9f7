/**
 * The same rollout by other engines that npm offers, in the same run: the same fleet, the same driver
 * call and the same two writes to `sentinels` per deploy, 100 in flight.
 *
 * What each guarantees: ours and "DBOS, a workflow each" give every deploy a durable execution of its
 * own, which goes on after a crash; "DBOS, a step each" journals results in one workflow; BullMQ keeps
 * jobs in Redis, here with every write synced, and runs a job again when its worker dies.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DBOS } from "@dbos-inc/dbos-sdk";
import { Queue, QueueEvents, Worker } from "bullmq";
import getPort from "get-port";
import pLimit from "p-limit";
import { createDeployer, type Deployer } from "#fleet/deployer.ts";
import { createFleetStore } from "#fleet/store.ts";
import { openDatabase } from "#kernel/database.ts";
import {
  callRollout,
  createFleet,
  log,
  maxParallel,
  median,
  type Servers,
  startServers,
} from "./fixture.ts";

const size = Number(process.env["BENCH_SIZE"] ?? 5_000);
const rounds = Number(process.env["BENCH_ROUNDS"] ?? 3);

type Contender = { name: string; run: (image: string) => Promise<void>; stop: () => Promise<void> };

const fleet = createFleet();
const servers = await startServers(fleet);
const database = openDatabase(servers.databaseUrl, log);
const deployer = createDeployer(fleet.driver, createFleetStore(database));

const deployTo = async (of: Deployer, sentinelId: string, image: string) => {
  const { status } = await of.begin({ sentinelId, image, deployId: `${image}/${sentinelId}` });
  if (status !== "ready") throw new Error(`${sentinelId} is ${status}`);
};
const listIds = async () => (await fleet.driver.list()).map(({ id }) => id);

function ours(): Contender {
  const run = async (image: string) => {
    const request = { image, wave_percentages: [100] };
    const answer = await callRollout(servers.ingressUrl, "Rollout", request);
    if (answer["succeeded"] !== size) throw new Error(JSON.stringify(answer));
  };
  return { name: "Vedette", run, stop: async () => {} };
}

async function dbos({ databaseUrl }: Servers): Promise<Contender[]> {
  DBOS.setConfig({ name: "bench", systemDatabaseUrl: databaseUrl, logLevel: "error" });
  const stepEach = DBOS.registerWorkflow(
    async (ids: string[], image: string) => {
      const limit = pLimit(maxParallel);
      const step = (id: string) => DBOS.runStep(() => deployTo(deployer, id, image), { name: id });
      await Promise.all(ids.map((id) => limit(() => step(id))));
    },
    { name: "stepEach" },
  );
  const deployOne = DBOS.registerWorkflow(
    (id: string, image: string) =>
      DBOS.runStep(() => deployTo(deployer, id, image), { name: "deploy" }),
    { name: "deployOne" },
  );
  const workflowEach = DBOS.registerWorkflow(
    async (ids: string[], image: string) => {
      const limit = pLimit(maxParallel);
      await Promise.all(ids.map((id) => limit(() => deployOne(id, image))));
    },
    { name: "workflowEach" },
  );
  await DBOS.launch();
  return [
    {
      name: "DBOS, a workflow each",
      run: async (image) => workflowEach(await listIds(), image),
      stop: () => DBOS.shutdown(),
    },
    {
      name: "DBOS, a step each",
      run: async (image) => stepEach(await listIds(), image),
      stop: async () => {},
    },
  ];
}

async function bullmq(): Promise<Contender[]> {
  if (spawnSync("redis-server", ["--version"]).status !== 0) {
    console.log("BullMQ is left out: there is no redis-server (apt-get install redis-server)");
    return [];
  }
  const dir = mkdtempSync(path.join(tmpdir(), "vedette-bench-redis-"));
  const port = await getPort({ host: "127.0.0.1" });
  const durable = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""];
  const place = ["--port", String(port), "--bind", "127.0.0.1", "--dir", dir];
  const redis = spawn("redis-server", [...place, ...durable], { stdio: "ignore" });
  const connection = { host: "127.0.0.1", port };
  const queue = new Queue("rollout", { connection });
  const events = new QueueEvents("rollout", { connection });
  const worker = new Worker<{ id: string; image: string }>(
    "rollout",
    ({ data }) => deployTo(deployer, data.id, data.image),
    { connection, concurrency: maxParallel },
  );
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady(), events.waitUntilReady()]);
  const run = async (image: string) => {
    const ids = await listIds();
    let left = ids.length;
    const done = Promise.withResolvers<void>();
    const onCompleted = () => {
      if (--left === 0) done.resolve();
    };
    worker.on("completed", onCompleted);
    const jobs = ids.map((id) => ({ name: "deploy", data: { id, image } }));
    await queue.addBulk(jobs.map((job) => ({ ...job, opts: { removeOnComplete: true } })));
    await done.promise;
    worker.off("completed", onCompleted);
  };
  const stop = async () => {
    await worker.close();
    await events.close();
    await queue.close();
    redis.kill("SIGTERM");
    rmSync(dir, { recursive: true, force: true });
  };
  return [{ name: "BullMQ", run, stop }];
}

const contenders = [ours(), ...(await dbos(servers)), ...(await bullmq())];
const times = new Map(contenders.map(({ name }) => [name, [] as number[]]));

for (let round = 0; round <= rounds; round++) {
  for (const { name, run } of contenders) {
    fleet.sizeTo(size);
    const image = fleet.image();
    const startedAt = performance.now();
    await run(image);
    // The first round warms up.
    if (round > 0) times.get(name)?.push(performance.now() - startedAt);
  }
}

const own = median(times.get("Vedette") ?? []);
console.table(
  contenders.map(({ name }) => {
    const ms = median(times.get(name) ?? []);
    return {
      engine: name,
      sentinels: size,
      "median s": (ms / 1_000).toFixed(1),
      "ms each": (ms / size).toFixed(2),
      "times ours": (ms / own).toFixed(2),
    };
  }),
);
for (const { stop } of contenders) await stop();
await database.end();
await servers.stop();
process.exit(0);
