/**
 * The cost of a million keys compared with a thousand, verified in random order: cold (a process that has just
 * started), and warm (every key was used once). BENCH_KEYS: how many; BENCH_SECONDS: of one run;
 * BENCH_RUNS: of each kind when warm, alternating.
 */
import {
  type ApiBench,
  benchKey,
  insertKeys,
  rootKey,
  type Served,
  withApi,
} from "./api-fixture.ts";
import { type LoadResult, load, mediansOf } from "./load.ts";
import { countFrom, residentMbOf } from "./measure.ts";
import { finishBench, reportFigure, reportTable, startBench } from "./run.ts";

const few = 1_000;
const many = countFrom("BENCH_KEYS", 1_000_000);
const seconds = countFrom("BENCH_SECONDS", 5);
const runs = countFrom("BENCH_RUNS", 5);

/** The aim (docs/measured.md, "Aims"). */
const mostLossPercent = 10;

const verifyLoad = ({ url, pid }: Served, nextKey: () => number) => ({
  url,
  pid,
  path: "/v2/keys.verifyKey",
  headers: { authorization: `Bearer ${rootKey}` },
  body: () => JSON.stringify({ key: benchKey(nextKey()) }),
  seconds,
});

const randomOf = (count: number) => () => Math.floor(Math.random() * count);

async function measure({ database, serve }: ApiBench): Promise<void> {
  await insertKeys(database, many);
  const of = { [few]: await serve("api"), [many]: await serve("api") };
  const table: Record<string, LoadResult & { residentMb: number }> = {};
  for (const [count, server] of Object.entries(of)) {
    const cold = await load(verifyLoad(server, randomOf(Number(count))));
    table[`${count} keys, cold`] = { ...cold, residentMb: residentMbOf(server.pid) };
    await warmUp(server, Number(count));
  }
  const results: Record<string, LoadResult[]> = {};
  for (let run = 0; run < runs; run += 1) {
    for (const [count, server] of Object.entries(of)) {
      const warm = await load(verifyLoad(server, randomOf(Number(count))));
      results[count] = [...(results[count] ?? []), warm];
    }
  }
  for (const [count, list] of Object.entries(results)) {
    const residentMb = residentMbOf(of[Number(count)]?.pid ?? 0);
    table[`${count} keys, warm`] = { ...mediansOf(list), residentMb };
  }
  reportTable("Keys at random; cold: a process that has just started", table);
  report(table);
  reportFigure("requests a second, cold", table[`${many} keys, cold`]?.perSecond);
  reportFigure("resident memory", residentMbOf(of[many]?.pid ?? 0), { unit: "MB" });
}

/** Uses every key once. */
async function warmUp(server: Served, count: number): Promise<void> {
  let next = 0;
  while (next < count) await load(verifyLoad(server, () => next++ % count));
}

function report(table: Record<string, LoadResult>): void {
  const ofFew = table[`${few} keys, warm`]?.perSecond ?? Number.NaN;
  const ofMany = table[`${many} keys, warm`]?.perSecond ?? Number.NaN;
  const lossPercent = (1 - ofMany / ofFew) * 100;
  reportFigure(`throughput that ${many} keys cost`, lossPercent, {
    atMost: mostLossPercent,
    unit: "%",
  });
}

startBench("many-keys");
await withApi(measure);
finishBench();
