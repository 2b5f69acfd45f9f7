/**
 * keys.verifyKey while requests arrive by the clock: at random times that do not wait for answers, as those of many
 * callers do; beside the minimum that the same server can do. What a caller waits is counted from the time at which
 * its request is due, so that a stall of the service, or of this program, delays all that arrive meanwhile.
 *
 * BENCH_RATE: requests a second. BENCH_SECONDS: how long, after a warm-up.
 */
import { Pool } from "undici";
import { createRandom } from "../test/support/alerts/alert-episodes.ts";
import {
  type ApiBench,
  benchKey,
  insertKeys,
  rootKey,
  type Served,
  withApi,
} from "./api-fixture.ts";
import { countFrom, percentile } from "./measure.ts";
import { finishBench, reportFigure, reportTable, startBench } from "./run.ts";

const rate = countFrom("BENCH_RATE", 10_000);
const seconds = countFrom("BENCH_SECONDS", 20);
const warmUpSeconds = 5;
/** Few enough that all are cached. */
const keyCount = 1_000;
/** An answer that takes longer fails the measurement. */
const limitMs = 10_000;

/** The aims (docs/measured.md, "Aims"). */
const leastQuick = 0.99;
const mostClientMs = 5;

/** Times of arrival, ms from the start: gaps as those of independent callers, the same in each run. */
function arrivals(count: number): Float64Array {
  const times = new Float64Array(count);
  const random = createRandom(1);
  let atMs = 0;
  for (let n = 0; n < count; n += 1) {
    atMs -= (Math.log(1 - random()) * 1_000) / rate;
    times[n] = atMs;
  }
  return times;
}

/** Sends each request when it is due, and returns how long after that its answer was there, ms. */
async function fire(pool: Pool, due: Float64Array): Promise<Float64Array> {
  const taken = new Float64Array(due.length);
  const all = Promise.withResolvers<void>();
  let answered = 0;
  let sent = 0;
  let hasFailed = false;
  const startedAt = performance.now();
  const fail = (error: Error) => {
    hasFailed = true;
    all.reject(error);
  };
  const ask = (n: number) => {
    const done = (text: string) => {
      if (!text.includes('"valid":true')) fail(new Error(`answered ${text}`));
      taken[n] = performance.now() - startedAt - (due[n] ?? 0);
      answered += 1;
      if (answered === due.length) all.resolve();
    };
    verify(pool, benchKey(n % keyCount), { done, fail });
  };
  const sendDue = () => {
    const nowMs = performance.now() - startedAt;
    while (sent < due.length && (due[sent] ?? 0) <= nowMs) ask(sent++);
    // A timer would come up to a millisecond late. It keeps one processor busy.
    if (sent < due.length && !hasFailed) setImmediate(sendDue);
  };
  sendDue();
  await all.promise;
  return taken;
}

type Outcome = { done: (text: string) => void; fail: (error: Error) => void };

function verify(pool: Pool, key: string, { done, fail }: Outcome): void {
  const chunks: Buffer[] = [];
  pool.dispatch(
    {
      method: "POST",
      path: "/v2/keys.verifyKey",
      headers: { authorization: `Bearer ${rootKey}`, "content-type": "application/json" },
      body: JSON.stringify({ key }),
      headersTimeout: limitMs,
      bodyTimeout: limitMs,
    },
    {
      onRequestStart: () => {},
      onResponseStart: () => {},
      onResponseData: (_, chunk) => chunks.push(chunk),
      onResponseEnd: () => done(Buffer.concat(chunks).toString()),
      onResponseError: (_, error) => fail(error),
    },
  );
}

/** The service's own times, of a scrape: how many requests there were, and how many took a millisecond at most. */
async function readCounts({ metricsUrl = "" }: Served): Promise<{ all: number; quick: number }> {
  const text = await (await fetch(metricsUrl, { signal: AbortSignal.timeout(limitMs) })).text();
  const countOf = (bound: string) => {
    const line = text.split("\n").find((one) => {
      return one.includes('procedure="keys.verifyKey"') && one.includes(`le="${bound}"`);
    });
    return Number(line?.split(" ").at(-1) ?? 0);
  };
  return { all: countOf("+Inf"), quick: countOf("0.001") };
}

async function measure({ database, serve }: ApiBench): Promise<void> {
  await insertKeys(database, keyCount);
  const floor = await fireAt(await serve("floor"));
  const api = await fireAt(await serve("api"));
  reportTable(`${rate} requests a second by the clock, for ${seconds} s`, [
    { server: "Fastify alone, a constant", ...columnsOf(floor.times) },
    { server: "keys.verifyKey", ...columnsOf(api.times) },
  ]);
  reportFigure("requests that take 1 ms at most in the service", api.quick, {
    atLeast: leastQuick,
  });
  const p99 = percentile(api.times, 99);
  reportFigure("p50 at the client", percentile(api.times, 50), { unit: "ms" });
  reportFigure("p99 at the client, Fastify alone", percentile(floor.times, 99), { unit: "ms" });
  reportFigure("p99 at the client", p99, { under: mostClientMs, unit: "ms" });
}

type Fired = {
  /** Times that callers waited, ms. */
  times: number[];
  /** The share of those that took the service a millisecond at most; a floor does not count them. */
  quick: number;
};

async function fireAt(server: Served): Promise<Fired> {
  const pool = new Pool(server.url, { connections: 512 });
  const due = arrivals(rate * seconds);
  try {
    await fire(pool, due.subarray(0, rate * warmUpSeconds));
    const before = await readCounts(server);
    const times = [...(await fire(pool, due))];
    const after = await readCounts(server);
    return { times, quick: (after.quick - before.quick) / (after.all - before.all) };
  } finally {
    await pool.destroy();
    await server.stop();
  }
}

function columnsOf(times: readonly number[]) {
  const at = (p: number) => percentile(times, p).toFixed(2);
  return { "p50 ms": at(50), "p99 ms": at(99), "p99.9 ms": at(99.9), "longest ms": at(100) };
}

startBench("open-loop");
await withApi(measure);
finishBench();
