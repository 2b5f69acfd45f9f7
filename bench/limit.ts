/**
 * ratelimit.limit, with recording, compared with the minimum that the same server can do for the same POST,
 * and with an endpoint of Express and rate-limiter-flexible that does the same; both in process, and with one
 * Redis (`redis-server`, from the Debian package of that name).
 *
 * BENCH_PROFILE=1 writes a processor profile of the API to the working directory instead; with
 * BENCH_PROFILE=redis, of the API over Redis.
 */
import { startTestRedis } from "../test/support/servers/redis.ts";
import { type ApiBench, rootKey, type Served, withApi } from "./api-fixture.ts";
import { compare, reportCpu } from "./compare.ts";
import { nextLimitBody } from "./limit-body.ts";
import { profile } from "./load.ts";
import { finishBench, reportFigure, startBench } from "./run.ts";

/** The aims (docs/measured.md, "Aims"). */
const leastShare = 0.6;
const mostP99 = 4;
const mostMicros = 27;
const leastTimes = 2;
/** Redis has a part of the time of either that is not the server's. */
const leastTimesOverRedis = 1.6;

const profiled = process.env["BENCH_PROFILE"];
const program = new URL("./peers/express-node.ts", import.meta.url);

const asked = (server: Served, says = '"success":true') => ({
  ...server,
  path: "/v2/ratelimit.limit",
  headers: { authorization: `Bearer ${rootKey}` },
  body: nextLimitBody,
  says,
});

async function measure({ serve }: ApiBench, redisUrl: string): Promise<void> {
  const overRedis = { environment: { BENCH_REDIS_URL: redisUrl } };
  if (profiled !== undefined) {
    const flags = ["--cpu-prof"];
    const server = await serve("api", profiled === "redis" ? { flags, ...overRedis } : { flags });
    await profile(asked(server));
    return server.stop();
  }
  const production = { NODE_ENV: "production" };
  const express = { program, environment: production };
  const expressOverRedis = { program, environment: { ...production, BENCH_REDIS_URL: redisUrl } };
  const found = await compare({
    floor: asked(await serve("floor"), ""),
    limit: asked(await serve("api")),
    "Express, in process": asked(await serve("express", express)),
    "limit over Redis": asked(await serve("api", overRedis)),
    "Express over Redis": asked(await serve("express", expressOverRedis)),
  });
  const ratio = (one: keyof typeof found, other: keyof typeof found) =>
    found[one].perSecond / found[other].perSecond;
  const cpuRatio = (one: keyof typeof found, other: keyof typeof found) =>
    found[other].cpuMicros / found[one].cpuMicros;
  reportFigure("limits a second", found.limit.perSecond);
  reportFigure("limits a second, over Redis", found["limit over Redis"].perSecond);
  reportFigure("limit against the floor", ratio("limit", "floor"), { atLeast: leastShare });
  reportFigure("its p99 against the floor's", found.limit.p99Ms / found.floor.p99Ms, {
    under: mostP99,
  });
  reportCpu(found.limit, found.floor, mostMicros);
  const peer = "Express over Redis";
  reportFigure("limit, by its preset, against Express over Redis", ratio("limit", peer), {
    atLeast: leastTimes,
    unit: "times",
  });
  reportFigure("limit against Express, both over Redis", ratio("limit over Redis", peer), {
    atLeast: leastTimesOverRedis,
    unit: "times",
  });
  reportFigure("limit against Express, both in process", ratio("limit", "Express, in process"), {
    atLeast: leastTimes,
    unit: "times",
  });
  reportFigure("by CPU, both over Redis", cpuRatio("limit over Redis", peer), { unit: "times" });
  const inProcess = "Express, in process";
  reportFigure("by CPU, both in process", cpuRatio("limit", inProcess), { unit: "times" });
  reportFigure("the floor against Express, in process", ratio("floor", inProcess), {
    unit: "times",
  });
}

startBench("limit");
const redis = await startTestRedis();
try {
  await withApi((bench) => measure(bench, redis.url));
} finally {
  await redis.stop();
}
finishBench();
