import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { lock, unlock } from "#kernel/thread-lock.ts";
import { inThreads } from "../../support/threads.ts";

it.each([
  [4, 50_000],
  // So many that most of them sleep for long.
  [32, 4_000],
])("lets one of %i threads at a time work on what it guards", async (threads, rounds) => {
  const words = new Int32Array(new SharedArrayBuffer(4));
  const counts = new Int32Array(new SharedArrayBuffer(4));
  const source = `
    import { lock, unlock } from "#kernel/thread-lock.ts";
    export default ({ words, counts, rounds }) => {
      for (let round = 0; round < rounds; round += 1) {
        const held = lock(words, 0);
        counts[0] += 1;
        unlock(words, 0, held);
      }
    };
  `;

  await inThreads(threads, source, { words, counts, rounds });

  expect(counts[0]).toBe(threads * rounds);
});

it("is taken over from a thread that has ended while it held it", async () => {
  const words = new Int32Array(new SharedArrayBuffer(4));
  const module = new URL("../../../src/kernel/thread-lock.ts", import.meta.url).href;
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

  const held = lock(words, 0);

  expect(performance.now() - startedAt).toBeGreaterThan(2_900);
  unlock(words, 0, held);
  expect(words[0]).toBe(0);
});

it("stays with who has taken it over when the one before releases it after all", () => {
  const words = new Int32Array(new SharedArrayBuffer(4));
  const before = lock(words, 0);
  const held = lock(words, 0);

  unlock(words, 0, before);

  expect(words[0]).not.toBe(0);
  unlock(words, 0, held);
  expect(words[0]).toBe(0);
});
