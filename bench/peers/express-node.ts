/**
 * One process of bench/limit.ts: a limit endpoint of Express and rate-limiter-flexible, as in its README.
 * With BENCH_REDIS_URL its counters are in Redis, otherwise in memory.
 */
import type { AddressInfo } from "node:net";
import express from "express";
import { Redis } from "ioredis";
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";

const redisUrl = process.env["BENCH_REDIS_URL"];
const redis = redisUrl === undefined ? undefined : new Redis(redisUrl);
// A store that is away makes single calls fail.
redis?.on("error", () => {});

type Limiter = RateLimiterMemory | RateLimiterRedis;
type Body = { identifier: string; limit: number; duration: number };

/** By duration: one has a single limit here. */
const limiters = new Map<number, Limiter>();

function createLimiter({ limit, duration }: Body): Limiter {
  const window = { points: limit, duration: duration / 1_000 };
  return redis === undefined
    ? new RateLimiterMemory(window)
    : new RateLimiterRedis({ storeClient: redis, keyPrefix: `bench${duration}`, ...window });
}

async function consume(body: Body): Promise<{ success: boolean; found: RateLimiterRes }> {
  const limiter = limiters.get(body.duration) ?? createLimiter(body);
  limiters.set(body.duration, limiter);
  try {
    return { success: true, found: await limiter.consume(body.identifier) };
  } catch (refused) {
    if (refused instanceof RateLimiterRes) return { success: false, found: refused };
    throw refused;
  }
}

const app = express();
app.use(express.json());
app.post("/v2/ratelimit.limit", async (request, response) => {
  const { success, found } = await consume(request.body);
  const reset = Date.now() + found.msBeforeNext;
  response.json({
    data: { limit: request.body.limit, remaining: found.remainingPoints, reset, success },
  });
});
const server = app.listen(0, "127.0.0.1", () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
process.once("SIGTERM", () => {
  redis?.disconnect();
  process.exit();
});
