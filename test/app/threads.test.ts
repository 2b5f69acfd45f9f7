import { Registry } from "prom-client";
import { expect, it, onTestFinished } from "vitest";
import { type Base, createDeparture } from "#app/base.ts";
import { createThreadMemory } from "#app/threads/contract.ts";
import {
  connectionsPerThread,
  createThreads,
  type ThreadsParts,
  threadsOf,
} from "#app/threads/threads.ts";
import { readConfig } from "#config.ts";
import { createLog } from "#kernel/log.ts";

const config = readConfig({ environment: {} });

/** Two further threads that run `source` in place of the API. */
function start(source: string) {
  const failure = Promise.withResolvers<Error>();
  const registry = new Registry();
  const departure = createDeparture(failure.promise);
  const log = createLog({ level: "silent", format: "json" });
  const base = { config, log, registry, departure, fail: failure.resolve } as unknown as Base;
  const memory = createThreadMemory();
  const data = {
    ...{ config, dataDir: "/nowhere", databaseUrl: "postgres://127.0.0.1:1/none" },
    ports: { http: 0, https: undefined },
    analytics: undefined,
  } as unknown as ThreadsParts["data"];
  const program = new URL(`data:text/javascript,${encodeURIComponent(source)}`);
  const threads = createThreads(base, { memory, threads: 3, data, analytics: undefined, program });
  onTestFinished(threads.stop);
  threads.begin();
  return { threads, failed: failure.promise, registry, memory, departure };
}

const birpc = import.meta.resolve("birpc");

/** A thread that serves. */
const serving = `
  import { parentPort, workerData } from "node:worker_threads";
  import { createBirpc } from ${JSON.stringify(birpc)};
  const calls = {
    metrics: async () => [{ name: "number", help: "N.", type: "gauge", aggregator: "sum",
      values: [{ labels: {}, value: workerData.number }] }],
    stop: async () => {},
  };
  const main = createBirpc(calls, {
    post: (message) => parentPort.postMessage(message),
    on: (listener) => parentPort.on("message", listener),
  });
  main.reportReady();
`;

it("there are as many as processors, unless the settings or the system say otherwise", () => {
  expect(threadsOf({ threads: 3 }, "linux")).toBe(3);
  expect(threadsOf({ threads: 1 }, "darwin")).toBe(1);
  expect(threadsOf({ threads: 0 }, "darwin")).toBe(1);
  expect(threadsOf({ threads: 0 }, "linux")).toBeGreaterThanOrEqual(1);
  expect(threadsOf({ threads: 0 }, "linux")).toBeLessThanOrEqual(16);
  expect(() => threadsOf({ threads: 2 }, "darwin")).toThrow(/api\.threads: .*set it to 1/);
});

it("have few connections each where there are many of them", () => {
  expect([2, 5, 8, 16].map(connectionsPerThread)).toEqual([5, 5, 3, 3]);
});

it("the program fails when one ends, and says why", async () => {
  const { failed } = start('throw new Error("broken by itself")');

  expect((await failed).message).toBe("thread 2 of the public API has ended: broken by itself");
});

it("give their metrics once they serve", async () => {
  const { threads, registry } = start(serving);

  await expect
    .poll(async () => (await threads.metrics()).flat().map(({ name }) => name), { timeout: 10_000 })
    .toEqual(["number", "number"]);
  const text = await registry.metrics();
  expect(text).toMatch(/vedette_api_thread_busy_seconds_total\{thread="3"\} [\d.]+/);
});

it("stop without a failure of the program", async () => {
  const { threads, failed } = start(serving);
  await expect.poll(async () => (await threads.metrics()).flat().length).toBe(2);

  await threads.stop();

  const fate = await Promise.race([failed, new Promise((resolve) => setImmediate(resolve))]);
  expect(fate).toBeUndefined();
});

it("the threads are notified that the process leaves", async () => {
  const { departure, memory } = start(serving);

  await departure.announce(0);

  await expect.poll(() => Atomics.load(memory.states, 0)).toBe(1);
});
