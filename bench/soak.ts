/**
 * Memory of the API under full load, verifications and limits in turn, with recording. Once caches and
 * counters are full it must not grow: the last part of the run needs no more than the one before it.
 * BENCH_MINUTES: how long.
 */
import { type ApiBench, benchKey, insertKeys, rootKey, withApi } from "./api-fixture.ts";
import { load } from "./load.ts";
import { countFrom, median, residentMbOf } from "./measure.ts";
import { finishBench, reportFigure, reportTable, startBench } from "./run.ts";

const minutes = countFrom("BENCH_MINUTES", 10);
const keyCount = 10_000;
const sliceSeconds = 15;

/** The aim (docs/measured.md, "Aims"). It is not zero because garbage collection varies. */
const mostGrowthPercent = 10;

/** With all the memory of a large machine garbage collection would hardly ever run. */
const flags = ["--max-old-space-size=768"];

const calls = [
  {
    path: "/v2/keys.verifyKey",
    body: () => JSON.stringify({ key: benchKey(Math.floor(Math.random() * keyCount)) }),
  },
  {
    path: "/v2/ratelimit.limit",
    body: () =>
      JSON.stringify({
        namespace: "bench",
        // Always new identifiers, like addresses of callers, so that counters have to be removed.
        identifier: `caller-${Math.floor(Math.random() * 1e9)}`,
        limit: 100,
        duration: 60_000,
      }),
  },
];

async function measure({ database, serve }: ApiBench): Promise<void> {
  await insertKeys(database, keyCount);
  const { url, pid } = await serve("api", { flags });
  const headers = { authorization: `Bearer ${rootKey}` };
  const rows: { minute: number; perSecond: number; p99Ms: number; residentMb: number }[] = [];
  for (let slice = 0; slice * sliceSeconds < minutes * 60; slice += 1) {
    const call = calls[slice % calls.length] as (typeof calls)[number];
    const found = await load({ url, pid, headers, ...call, seconds: sliceSeconds });
    const minute = ((slice + 1) * sliceSeconds) / 60;
    const { perSecond, p99Ms } = found;
    rows.push({ minute, perSecond: Math.round(perSecond), p99Ms, residentMb: residentMbOf(pid) });
  }
  reportTable(
    "Each minute",
    rows.filter(({ minute }) => Number.isInteger(minute)),
  );
  report(rows.map(({ residentMb }) => residentMb));
}

function report(residentMb: readonly number[]): void {
  const third = Math.floor(residentMb.length / 3);
  const before = median(residentMb.slice(third, 2 * third));
  const last = median(residentMb.slice(2 * third));
  reportFigure("median memory in the second third", before, { unit: "MB" });
  reportFigure("median memory in the last third", last, { unit: "MB" });
  const growthPercent = (last / before - 1) * 100;
  reportFigure("growth of memory", growthPercent, { atMost: mostGrowthPercent, unit: "%" });
}

startBench("soak");
await withApi(measure);
finishBench();
