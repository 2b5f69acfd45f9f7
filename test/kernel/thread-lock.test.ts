import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { lock, unlock } from "#kernel/thread-lock.ts";
import { inThreads } from "../support/api/threads.ts";

it("lets one thread at a time work on what it guards", async () => {
  const words = new Int32Array(new SharedArrayBuffer(4));
  const counts = new Int32Array(new SharedArrayBuffer(4));
  const source = `
    import { lock, unlock } from "#kernel/thread-lock.ts";
    export default ({ words, counts }) => {
      for (let round = 0; round < 50_000; round += 1) {
        lock(words, 0);
        counts[0] += 1;
        unlock(words, 0);
      }
    };
  `;

  await inThreads(4, source, { words, counts });

  expect(counts[0]).toBe(200_000);
});

it("is taken over from a thread that has ended while it held it", async () => {
  const words = new Int32Array(new SharedArrayBuffer(4));
  const module = new URL("../../src/kernel/thread-lock.ts", import.meta.url).href;
  const source = `
    import { parentPort, workerData } from "node:worker_threads";
    import { lock } from ${JSON.stringify(module)};
    lock(workerData, 0);
    parentPort.postMessage("held");
    setInterval(() => {}, 1_000);
  `;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`), {
    workerData: words,
  });
  await new Promise((resolve) => worker.once("message", resolve));
  await worker.terminate();
  const startedAt = performance.now();

  lock(words, 0);

  expect(performance.now() - startedAt).toBeGreaterThan(900);
  unlock(words, 0);
  lock(words, 0);
  unlock(words, 0);
  expect(performance.now() - startedAt).toBeLessThan(1_900);
});
