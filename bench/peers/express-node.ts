/**
 * One process of bench/limit.ts: a limit endpoint of Express and rate-limiter-flexible, as in its README.
 * With BENCH_REDIS_URL its counters are in Redis, otherwise in memory.
 */
import type { AddressInfo } from "node:net";
import express from "express";
import { Redis } from "ioredis";
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { limitBody } from "../limit-body.ts";

const redisUrl = process.env["BENCH_REDIS_URL"];
const window = { points: limitBody.limit, duration: limitBody.duration / 1_000 };
const redis = redisUrl === undefined ? undefined : new Redis(redisUrl);
const limiter =
  redis === undefined
    ? new RateLimiterMemory(window)
    : new RateLimiterRedis({ storeClient: redis, keyPrefix: "bench", ...window });

async function consume(identifier: string): Promise<{ success: boolean; found: RateLimiterRes }> {
  try {
    return { success: true, found: await limiter.consume(identifier) };
  } catch (refused) {
    if (refused instanceof RateLimiterRes) return { success: false, found: refused };
    throw refused;
  }
}

const app = express();
app.use(express.json());
app.post("/v2/ratelimit.limit", async (request, response) => {
  const { identifier, limit } = request.body;
  const { success, found } = await consume(identifier);
  const reset = Date.now() + found.msBeforeNext;
  response.json({ data: { limit, remaining: found.remainingPoints, reset, success } });
});
const server = app.listen(0, "127.0.0.1", () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
process.once("SIGTERM", () => {
  redis?.disconnect();
  process.exit();
});
