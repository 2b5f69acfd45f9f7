/**
 * keys.verifyKey on cached keys, with recording, compared with the minimum that the same server can do for the
 * same POST, and with the API without its fast lane. BENCH_PROFILE=1 writes a processor profile of the API to the
 * working directory instead.
 */
import { type ApiBench, askedToVerify, insertKeys, type Served, withApi } from "./api-fixture.ts";
import { compare, reportCpu } from "./compare.ts";
import { profile } from "./load.ts";
import { finishBench, reportFigure, startBench } from "./run.ts";

/** Few enough that all are cached. */
const keyCount = 1_000;

/** The aims (docs/measured.md, "Aims"). */
const leastShare = 0.55;
const mostP99 = 4;
const mostMicros = 28;
/** Least gain over the API without its fast lane, for the same processor time: less would not be worth a parser. */
const leastGain = 1.25;

const asked = (server: Served) => askedToVerify(server, keyCount);

async function measure({ database, serve }: ApiBench): Promise<void> {
  await insertKeys(database, keyCount);
  if (process.env["BENCH_PROFILE"] === "1") {
    const server = await serve("api", { flags: ["--cpu-prof"] });
    await profile(asked(server));
    return server.stop();
  }
  const withoutLane = await serve("api", { environment: { BENCH_FAST_LANE: "0" } });
  const { floor, verifyKey, without } = await compare({
    floor: asked(await serve("floor")),
    verifyKey: asked(await serve("api")),
    without: asked(withoutLane),
  });
  reportFigure("verifications a second", verifyKey.perSecond);
  reportFigure("CPU of a verification", verifyKey.cpuMicros, { unit: "µs" });
  const share = verifyKey.perSecond / floor.perSecond;
  reportFigure("verifyKey against the floor", share, { atLeast: leastShare });
  reportFigure("its p99 against the floor's", verifyKey.p99Ms / floor.p99Ms, { under: mostP99 });
  reportCpu(verifyKey, floor, mostMicros);
  const gain = without.cpuMicros / verifyKey.cpuMicros;
  reportFigure("requests for the same CPU against those without the fast lane", gain, {
    atLeast: leastGain,
  });
}

startBench("verify");
await withApi(measure);
finishBench();
