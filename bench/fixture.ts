/** What the measurements share: real servers as `npm start` has them, and a fleet that costs nothing. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { startPostgres } from "#embedded/postgres.ts";
import { startRestate } from "#embedded/restate.ts";
import { createDeployer } from "#fleet/deployer.ts";
import type { Driver } from "#fleet/drivers/driver.ts";
import { createSentinelService } from "#fleet/service.ts";
import { createFleetStore } from "#fleet/store.ts";
import { type Database, migrate, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { createChatChannel } from "#notify/chat-channel.ts";
import { createRolloutServices } from "#rollout/services.ts";
import { serveEndpoint } from "#worker/endpoint.ts";
import { registerWorker } from "#worker/register.ts";

export const maxParallel = 100;

export const log = createLog({ level: "silent", format: "json" });

export type Fleet = { driver: Driver; sizeTo: (size: number) => void; image: () => string };

/** Sentinels in this process: every deploy succeeds at once, or after `delayMs`. */
export function createFleet(delayMs = 0): Fleet {
  const running = new Map<string, string>();
  const readyAtMs = new Map<string, number>();
  const regions = ["eu-central-1", "us-east-1", "ap-southeast-1"];
  let number = 0;
  const driver: Driver = {
    list: async () =>
      [...running].map(([id, image], i) => {
        const region = regions[i % regions.length] ?? "";
        return { id, region, image, running_image: image, healthy: true };
      }),
    apply: async ({ sentinelId, image }) => {
      running.set(sentinelId, image);
      readyAtMs.set(sentinelId, Date.now() + delayMs);
      return {};
    },
    observe: async ({ sentinelId, image }) => {
      const isReady = Date.now() >= (readyAtMs.get(sentinelId) ?? 0);
      return { status: isReady ? "ready" : "progressing", running_image: image };
    },
    start: async () => {},
    stop: async () => {},
  };
  return {
    driver,
    sizeTo(size) {
      running.clear();
      const first = "registry.example.com/vedette/sentinel:v1";
      for (let i = 0; i < size; i++) running.set(`sentinel-${String(i).padStart(6, "0")}`, first);
    },
    image: () => `registry.example.com/vedette/sentinel:b${++number}`,
  };
}

export type Servers = {
  database: Database;
  databaseUrl: string;
  ingressUrl: string;
  restatePid: () => number;
  stop: () => Promise<void>;
};

/** Restate and Postgres with the durability that `npm start` gives them, and our services on them. */
export async function startServers(fleet: Fleet): Promise<Servers> {
  const dataDir = mkdtempSync(path.join(tmpdir(), "vedette-bench-"));
  const postgres = await startPostgres({ dataDir, port: 0, password: "bench", log });
  await migrate(postgres.url, log);
  const database = openDatabase(postgres.url, log);
  const restate = await startRestate({ dataDir, ingressPort: 0, adminPort: 0, log });
  const store = createFleetStore(database);
  const deployTimeoutMs = 60_000;
  const endpoint = await serveEndpoint({
    host: "127.0.0.1",
    port: 0,
    identityKeys: [],
    log,
    services: [
      createSentinelService({ deployer: createDeployer(fleet.driver, store), deployTimeoutMs }),
      createChatChannel({ webhookUrlOf: () => "", spacingMs: 0 }),
      ...createRolloutServices({
        listFleet: async () => store.sync(await fleet.driver.list()),
        resolveImage: async (image) => image,
        database,
        maxParallel,
        deployTimeoutMs,
      }),
    ],
  });
  const { adminUrl, ingressUrl } = restate;
  await registerWorker({ adminUrl, workerUrl: endpoint.url, revision: "bench" });
  return {
    database,
    databaseUrl: postgres.url,
    ingressUrl,
    restatePid: restate.pid,
    stop: async () => {
      await restate.stop();
      await endpoint.stop();
      await database.end();
      await postgres.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

export type Answer = Record<string, unknown>;

export async function callRollout(url: string, handler: string, body: unknown = {}) {
  const answer = await fetch(`${url}/vedette.v1.SentinelRolloutService/singleton/${handler}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(600_000),
  });
  return (await answer.json()) as Answer;
}

/** Processor time and resident memory of a process, from /proc; zeros where there is none. */
export function usageOf(pid: number): { cpuMs: number; rssMb: number } {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").pop()?.split(" ") ?? [];
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const ticks = Number(fields[11]) + Number(fields[12]);
    return { cpuMs: ticks * 10, rssMb: Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024 };
  } catch {
    return { cpuMs: 0, rssMb: 0 };
  }
}

export function sizesFrom(preset: number[]): number[] {
  return process.env["BENCH_SIZES"]?.split(",").map(Number) ?? preset;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

export function percentile(values: readonly number[], p: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil((sorted.length * p) / 100) - 1)] ?? 0;
}
