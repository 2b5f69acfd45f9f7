/**
 * keys.verifyKey on cached keys by one thread of `vedette start --role api`, and by two. On a machine with two
 * processors, of which the load takes one, what two threads are worth is measured by the processor time of a request.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setPriority, tmpdir } from "node:os";
import path from "node:path";
import {
  type ApiBench,
  askedToVerify,
  insertKeys,
  rootKey,
  type Served,
  withApi,
} from "./api-fixture.ts";
import { compare } from "./compare.ts";
import { finishBench, reportFigure, startBench } from "./run.ts";

const keyCount = 1_000;

/** Enough for each thread to have requests that wait, as a busy API's has. */
const connections = 200;

const serversNiceness = 10;

/** The aim (docs/measured.md, "Aims"): twice the threads do so many times the work. */
const leastGain = 1.8;

const asked = (server: Served) => ({ ...askedToVerify(server, keyCount), connections });

/** Starts a stand-in for the analytics store: it takes everything at once. */
async function startStore() {
  const server = createServer((request, response) => {
    request.resume().once("end", () => response.end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

async function measure({ database, databaseUrl, serve }: ApiBench): Promise<void> {
  await insertKeys(database, keyCount);
  const store = await startStore();
  const dir = mkdtempSync(path.join(tmpdir(), "vedette-bench-threads-"));
  const start = (threads: number) =>
    serve("threads", {
      program: new URL("./threads-node.ts", import.meta.url),
      environment: {
        DATABASE_URL: databaseUrl,
        CLICKHOUSE_URL: store.url,
        VEDETTE_ROOT_KEY: rootKey,
        VEDETTE_DATA_DIR: path.join(dir, String(threads)),
        VEDETTE_API__THREADS: String(threads),
        VEDETTE_API__PORT: "0",
        VEDETTE_METRICS__PORT: "0",
      },
    });
  try {
    const servers = { one: await start(1), two: await start(2) };
    // The load goes first, so that threads that share processors with it are never without requests.
    for (const { pid } of Object.values(servers)) setPriority(pid, serversNiceness);
    const found = await compare({ one: asked(servers.one), two: asked(servers.two) });
    const gain = (2 * found.one.cpuMicros) / found.two.cpuMicros;
    const share = await leastBusy(servers.two);
    reportFigure("work of two threads, times that of one", gain, { atLeast: leastGain });
    reportFigure("of the less busy thread, share of the work", share, { atLeast: 0.35 });
    await Promise.all([servers.one.stop(), servers.two.stop()]);
  } finally {
    store.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The share of the thread that did less, of the time in which any was busy. */
async function leastBusy({ metricsUrl = "" }: Served): Promise<number> {
  const text = await (await fetch(metricsUrl)).text();
  const lines = text.matchAll(/^vedette_api_thread_busy_seconds_total\{.+\} ([\d.]+)$/gm);
  const busy = [...lines].map(([, seconds]) => Number(seconds));
  const sum = busy.reduce((one, other) => one + other, 0);
  return Math.min(...busy) / sum;
}

startBench("threads");
await withApi(measure);
finishBench();
