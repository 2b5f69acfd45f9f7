/** Threads that run a function of a module of the program beside the test. */
import { Worker } from "node:worker_threads";

/**
 * Runs `source` in `count` threads, a module whose `export default` gets the data and the thread's number and returns
 * its result. All begin at the same moment.
 */
export async function inThreads<Data, Result>(
  count: number,
  source: string,
  data: Data,
): Promise<Result[]> {
  const gate = new Int32Array(new SharedArrayBuffer(8));
  const results = Array.from({ length: count }, (_, number) =>
    runThread<Result>(source, { data, number, gate, count }),
  );
  return Promise.all(results);
}

const frame = `
import { parentPort, workerData } from "node:worker_threads";
const { data, number, gate, count } = workerData;
const work = (await import(workerData.module)).default;
if (Atomics.add(gate, 0, 1) === count - 1) {
  Atomics.store(gate, 1, 1);
  Atomics.notify(gate, 1);
}
Atomics.wait(gate, 1, 0);
parentPort.postMessage(await work(data, number));
`;

function runThread<Result>(source: string, workerData: object): Promise<Result> {
  const module = moduleUrl(source).href;
  const worker = new Worker(moduleUrl(frame), { workerData: { ...workerData, module } });
  return new Promise((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}

/** Modules of the program are imported by their address: a module without a file knows no names of a package. */
function moduleUrl(source: string): URL {
  const resolved = source.replaceAll(/"#([^"]+)"/g, (_, name: string) =>
    JSON.stringify(new URL(`../../src/${name}`, import.meta.url).href),
  );
  return new URL(`data:text/javascript,${encodeURIComponent(resolved)}`);
}
