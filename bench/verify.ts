/**
 * keys.verifyKey on cached keys, recording on, beside the least that the same server can do for the
 * same POST. BENCH_SECONDS: of one run; BENCH_RUNS: of each kind, alternating. BENCH_PROFILE=1 writes
 * a processor profile of the API to the working directory instead.
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
import { countFrom } from "./measure.ts";

const seconds = countFrom("BENCH_SECONDS", 5);
const runs = countFrom("BENCH_RUNS", 5);
const isProfile = process.env["BENCH_PROFILE"] === "1";

/** Few enough to be cached, all of them. */
const keyCount = 1_000;

/** The aims (issue 3, "Speed"). */
const leastShare = 0.55;
const mostP99 = 4;

const verifyLoad = ({ url, pid }: Served) => ({
  url,
  pid,
  path: "/v2/keys.verifyKey",
  headers: { authorization: `Bearer ${rootKey}` },
  body: () => JSON.stringify({ key: benchKey(Math.floor(Math.random() * keyCount)) }),
});

async function measure({ database, serve }: ApiBench): Promise<void> {
  await insertKeys(database, keyCount);
  if (isProfile) return profile(await serve("api", { flags: ["--cpu-prof"] }));
  const servers = { floor: await serve("floor"), verifyKey: await serve("api") };
  const results: Record<keyof typeof servers, LoadResult[]> = { floor: [], verifyKey: [] };
  for (const server of Object.values(servers)) await load({ ...verifyLoad(server), seconds: 2 });
  for (let run = 0; run < runs; run += 1) {
    for (const [name, server] of Object.entries(servers)) {
      results[name as keyof typeof servers].push(await load({ ...verifyLoad(server), seconds }));
    }
  }
  report(results);
}

async function profile(server: Served): Promise<void> {
  await load({ ...verifyLoad(server), seconds: 2 });
  console.table([await load({ ...verifyLoad(server), seconds: 10 })]);
  await server.stop();
}

function report(results: Record<string, LoadResult[]>): void {
  const rows = Object.fromEntries(
    Object.entries(results).map(([name, list]) => [name, mediansOf(list)]),
  );
  console.table(rows);
  const { floor, verifyKey } = rows;
  if (floor === undefined || verifyKey === undefined) return;
  const share = verifyKey.perSecond / floor.perSecond;
  const p99 = verifyKey.p99Ms / floor.p99Ms;
  console.log(`verifyKey reaches ${(share * 100).toFixed(0)} % of the floor (aim: 55 %)`);
  console.log(`p99 is ${p99.toFixed(1)} times the floor's (aim: under 4)`);
  if (share < leastShare || p99 >= mostP99) process.exitCode = 1;
}

await withApi(measure);
