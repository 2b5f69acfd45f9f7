/** Limits that several processes share over a real Redis, which is killed, hangs and comes back. */
import fc from "fast-check";
import { pino } from "pino";
import { Registry } from "prom-client";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { Limiter, LimitRequest } from "#api/limiter.ts";
import { createLocalLimiter } from "#api/ratelimit/limiter/local-limiter.ts";
import { createRedisCounters } from "#api/ratelimit/limiter/redis-counters.ts";
import { startLimiter, startSharedLimiter } from "#api/ratelimit/limiter/start-limiter.ts";
import { startApiNode, startTestApi } from "../../support/api/api.ts";
import { createLimitModel, limitTurns } from "../../support/api/limit-model.ts";
import { hasPrograms } from "../../support/servers/programs.ts";
import { startTestRedis, type TestRedis } from "../../support/servers/redis.ts";
import { waitFor } from "../../support/wait-for.ts";

let redis: TestRedis;

/** So that a machine which stands still for a moment does not look like a Redis that is away. */
const patientMs = 30_000;

type NodeOptions = { redisUrl?: string; answerTimeoutMs?: number };

/** A limiter as the program has it, with what it logs and counts. */
async function startNode({ redisUrl = redis.url, answerTimeoutMs = patientMs }: NodeOptions = {}) {
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line) => lines.push(line) });
  const registry = new Registry();
  const limiter = await startLimiter({ redisUrl, log, registry, answerTimeoutMs });
  onTestFinished(limiter.close);
  const isShared = async () => /ratelimit_shared 1$/m.test(await registry.metrics());
  return { limiter, lines, isShared, registry };
}

const hourMs = 3_600_000;
let callers = 0;

/** Of a caller that no other test has. */
function newRequest(over: Partial<LimitRequest> = {}): LimitRequest {
  callers += 1;
  return { key: `ws_1/caller ${callers}`, limit: 10, durationMs: 24 * hourMs, cost: 1, ...over };
}

const take = async (limiter: Limiter, request: LimitRequest) =>
  (await limiter.take([request], Date.now())).passed;

/** How many of so many calls pass, one after the other. */
async function passedOf(limiter: Limiter, request: LimitRequest, calls: number): Promise<number> {
  let passed = 0;
  for (let call = 0; call < calls; call += 1) if (await take(limiter, request)) passed += 1;
  return passed;
}

describe.skipIf(!hasPrograms("redis-server"))("limits over Redis", () => {
  beforeAll(async () => {
    redis = await startTestRedis();
  });

  beforeEach(async () => {
    await redis.command("FLUSHALL");
  });

  afterAll(() => redis?.stop());

  it("are counted by two processes, also of calls in one turn, as the slow model does by itself", async () => {
    let nowMs = 1_800_000_000_000;
    const startClocked = () =>
      startSharedLimiter({
        local: createLocalLimiter({ maxCells: 1_000 }),
        counters: createRedisCounters({
          url: redis.url,
          clock: () => nowMs,
          answerTimeoutMs: patientMs,
        }),
        onMode: (mode) => expect(mode).toBe("shared"),
      });

    await fc.assert(
      fc.asyncProperty(limitTurns, async (turns) => {
        await redis.command("FLUSHALL");
        const limiters = [await startClocked(), await startClocked()];
        const model = createLimitModel();
        nowMs = 1_800_000_000_000;

        for (const [index, { waitMs, calls }] of turns.entries()) {
          nowMs += waitMs;
          const taking = calls.map((requests) => limiters[index % 2]?.take(requests, nowMs));
          const answers = await Promise.all(taking);
          expect(answers).toEqual(calls.map((requests) => model(requests, nowMs)));
        }

        await Promise.all(limiters.map((limiter) => limiter.close()));
      }),
      { numRuns: 150, seed: 20_261_121 },
    );
  });

  it("let exactly as many calls pass as there are, at two processes at once", async () => {
    const [one, other] = [await startNode(), await startNode()];
    const request = newRequest({ limit: 50 });

    const passed = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        take(index % 2 === 0 ? one.limiter : other.limiter, request),
      ),
    );

    expect(passed.filter(Boolean)).toHaveLength(50);
  });

  it("go on over a script that Redis has forgotten", async () => {
    const { limiter, isShared } = await startNode();
    const request = newRequest({ limit: 2 });
    await take(limiter, request);

    await redis.command("SCRIPT", "FLUSH");

    expect(await passedOf(limiter, request, 3)).toBe(1);
    expect(await isShared()).toBe(true);
  });

  it("leave nothing behind in Redis for longer than they count", async () => {
    const { limiter } = await startNode();
    const beforeMs = Date.now();
    await take(limiter, newRequest({ durationMs: 60_000 }));
    const afterMs = Date.now();

    const [key = ""] = (await redis.command("KEYS", "vedette:limit:{ws_1}:*")) as string[];
    const endsAtMs = Number(await redis.command("PEXPIRETIME", key));

    expect(endsAtMs - beforeMs).toBeGreaterThan(60_000);
    expect(endsAtMs - afterMs).toBeLessThanOrEqual(120_000);
  });

  describe("when Redis is killed", () => {
    it("go on in each process from what it knew, which says so", async () => {
      const { limiter, lines, isShared } = await startNode();
      const request = newRequest({ limit: 10 });
      await passedOf(limiter, request, 4);

      await redis.kill9();
      onTestFinished(redis.restart);
      const passed = await passedOf(limiter, request, 20);

      expect(passed).toBe(6);
      expect(await isShared()).toBe(false);
      expect(lines.join("")).toContain("rate limits of this process alone: Redis is away");
    });

    it("answer every call quickly, also those under way", async () => {
      const { limiter } = await startNode();
      const request = newRequest({ limit: 100_000 });

      const startedAtMs = performance.now();
      const calls = Array.from({ length: 500 }, () => take(limiter, request));
      await redis.kill9();
      onTestFinished(redis.restart);
      const passed = await Promise.all(calls);

      expect(passed.every(Boolean)).toBe(true);
      // Far less than the patience with an answer: what was under way is not waited for.
      expect(performance.now() - startedAtMs).toBeLessThan(patientMs / 2);
    });

    it("are shared again when it is back, with what has passed meanwhile", async () => {
      const { limiter, lines, isShared } = await startNode();
      const other = await startNode();
      const request = newRequest({ limit: 10 });
      await redis.kill9();
      await waitFor(async () => !(await isShared()), { withinMs: 2_000, what: "the loss" });
      await passedOf(limiter, request, 7);

      await redis.restart();
      await waitFor(async () => (await isShared()) && (await other.isShared()), {
        withinMs: 5_000,
        what: "both to share again",
      });

      expect(await take(limiter, request)).toBe(true);
      expect(await passedOf(other.limiter, request, 10)).toBe(2);
      expect(lines.filter((line) => line.includes("shared over Redis"))).toHaveLength(2);
    });
  });

  it("go on without a Redis that hangs", async () => {
    const { limiter, isShared } = await startNode({ answerTimeoutMs: 250 });
    redis.hang();
    onTestFinished(redis.wake);

    const startedAtMs = performance.now();
    const passed = await passedOf(limiter, newRequest({ limit: 3 }), 5);

    expect(passed).toBe(3);
    // Redis hangs until the test is over: without a limit of their own, all would wait for ever.
    expect(performance.now() - startedAtMs).toBeLessThan(20_000);
    expect(await isShared()).toBe(false);
  });

  it("stay with each process while Redis takes no writes, which is told once", async () => {
    const { limiter, lines, isShared } = await startNode();
    const request = newRequest({ limit: 100_000 });
    const refusals = async () => {
      const stats = String(await redis.command("INFO", "errorstats"));
      return Number(/errorstat_OOM:count=(\d+)/.exec(stats)?.[1] ?? 0);
    };
    await redis.command("CONFIG", "SET", "maxmemory", "1");
    onTestFinished(async () => void (await redis.command("CONFIG", "SET", "maxmemory", "0")));

    const refusedSome = async () => (await take(limiter, request)) && (await refusals()) >= 5;
    await waitFor(refusedSome, { withinMs: 20_000, what: "Redis to refuse some" });

    expect(lines.filter((line) => line.includes("this process alone"))).toHaveLength(1);
    expect(await isShared()).toBe(false);
    await redis.command("CONFIG", "SET", "maxmemory", "0");
    await waitFor(isShared, { withinMs: 10_000, what: "the limits to be shared again" });
  });

  it("start without a Redis, and share once it is there", async () => {
    await redis.kill9();
    const { limiter, isShared } = await startNode();

    const alone = await isShared();
    const passed = await passedOf(limiter, newRequest({ limit: 3 }), 5);
    await redis.restart();
    await waitFor(isShared, { withinMs: 5_000, what: "the limits to be shared" });

    expect(alone).toBe(false);
    expect(passed).toBe(3);
  });

  it("never tell the log the password of Redis", async () => {
    const { lines } = await startNode({ redisUrl: "redis://user:secret-password@127.0.0.1:1" });

    expect(lines.join("")).toContain("Redis is away");
    expect(lines.join("")).not.toContain("secret-password");
  });

  it("hold over two API processes, for limits and for keys", async () => {
    const first = await startTestApi({ limiter: (await startNode()).limiter });
    onTestFinished(first.stop);
    const second = await startApiNode(first.server.url, { limiter: (await startNode()).limiter });
    onTestFinished(second.stop);
    const { rootKey } = await first.createWorkspace();
    const { apiId } = (await first.client(rootKey).apis.createApi({ name: "payments" })).data;
    const ratelimits = [{ name: "calls", limit: 20, duration: 24 * hourMs, autoApply: true }];
    const { key } = (await first.client(rootKey).keys.createKey({ apiId, ratelimits })).data;
    const limit = { namespace: "mail", identifier: "anna", limit: 30, duration: 24 * hourMs };
    await first.call("ratelimit.limit", { ...limit, cost: 0 }, rootKey);
    const both = (procedure: string, body: unknown) =>
      Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          (index % 2 === 0 ? first : second).call(procedure, body, rootKey),
        ),
      );

    const limits = await both("ratelimit.limit", limit);
    const verifications = await both("keys.verifyKey", { key });

    expect(limits.filter(({ body }) => body.data.success)).toHaveLength(30);
    expect(verifications.filter(({ body }) => body.data.valid)).toHaveLength(20);
  });
});
