/** A rollout with BullMQ, in a Redis that syncs every write; bench/peers.ts says what it guarantees. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Queue, Worker } from "bullmq";
import getPort from "get-port";
import type { StartEngines } from "../engine.ts";
import { maxParallel, type Servers } from "../fixture.ts";

export const startBullmq: StartEngines = async ({ servers, listIds, deploy }) => {
  if (spawnSync("redis-server", ["--version"]).status !== 0) {
    console.log("BullMQ is left out: there is no redis-server (apt-get install redis-server)");
    return [];
  }
  const connection = { host: "127.0.0.1", port: await startDurableRedis(servers) };
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
};

/** Returns its port. */
async function startDurableRedis(servers: Servers): Promise<number> {
  const dir = mkdtempSync(path.join(tmpdir(), "vedette-bench-redis-"));
  const port = await getPort({ host: "127.0.0.1" });
  const durable = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""];
  const place = ["--port", String(port), "--bind", "127.0.0.1", "--dir", dir];
  const redis = spawn("redis-server", [...place, ...durable], { stdio: "ignore" });
  servers.defer(() => stopRedis(redis, dir));
  return port;
}

async function stopRedis(redis: ChildProcess, dir: string): Promise<void> {
  if (redis.exitCode === null && redis.signalCode === null) {
    const ended = once(redis, "exit");
    redis.kill("SIGTERM");
    await ended;
  }
  rmSync(dir, { recursive: true, force: true });
}
