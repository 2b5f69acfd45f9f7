/** What one workspace does over Redis, which several processes share, to the limits of another. */
import { pino } from "pino";
import { Registry } from "prom-client";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  onTestFinished,
} from "vitest";
import type { LimitRequest } from "#api/limiter.ts";
import { createLocalLimiter } from "#api/ratelimit/limiter/local-limiter.ts";
import { createRedisCounters } from "#api/ratelimit/limiter/redis-counters.ts";
import { startLimiter } from "#api/ratelimit/limiter/start-limiter.ts";
import { hasPrograms } from "../../support/servers/programs.ts";
import { startTestRedis, type TestRedis } from "../../support/servers/redis.ts";
import { waitFor } from "../../support/wait-for.ts";

let redis: TestRedis;

const dayMs = 86_400_000;
const most = Number.MAX_SAFE_INTEGER;

/** A machine that stands still for a moment is no Redis that is away. */
const answerTimeoutMs = 30_000;

/** One process's worth of limiter; `lines` are what it logs. */
async function startNode() {
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line) => lines.push(line) });
  const registry = new Registry();
  const parts = { redisUrl: redis.url, log, registry, answerTimeoutMs };
  const limiter = await startLimiter(parts);
  onTestFinished(limiter.close);
  const take = async (key: string, over: Partial<LimitRequest> = {}) =>
    limiter.take([{ key, limit: 1, durationMs: dayMs, cost: 1, ...over }], Date.now());
  return {
    limiter,
    registry,
    take,
    isShared: () => !lines.join("").includes("this process alone"),
  };
}

const flood = (call: number): LimitRequest[] =>
  Array.from({ length: 100 }, (_, n) => ({
    ...{ key: `ws_flood/rlns_1/${call}/${n}`, limit: 9, durationMs: dayMs, cost: 1 },
  }));

describe.skipIf(!hasPrograms("redis-server"))("limits of a workspace over Redis", () => {
  beforeAll(async () => {
    redis = await startTestRedis();
  });

  beforeEach(async () => void (await redis.command("FLUSHALL")));

  afterAll(() => redis?.stop());

  it("stay used up at every process while another workspace floods both", async () => {
    const [one, other] = [await startNode(), await startNode()];
    await one.take("ws_1/rlns_2/anna");

    const flooding = Array.from({ length: 60 }, (_, call) =>
      (call % 2 === 0 ? one : other).limiter.take(flood(call), Date.now()),
    );
    const again = await other.take("ws_1/rlns_2/anna");
    const answers = await Promise.all(flooding);

    expect(again.passed).toBe(false);
    expect(answers.every(({ passed }) => passed)).toBe(true);
    expect(one.isShared() && other.isShared()).toBe(true);
  });

  describe("with memory for 4 MB that refuses when it is full", () => {
    const usedBytes = async () =>
      Number(/used_memory:(\d+)/.exec(String(await redis.command("INFO", "memory")))?.[1]);

    beforeEach(async () => {
      await redis.command("CONFIG", "SET", "maxmemory", "4mb", "maxmemory-policy", "noeviction");
    });

    afterEach(async () => void (await redis.command("CONFIG", "SET", "maxmemory", "0")));

    // The name of a counter has up to 128 characters.
    it.each([
      ["by one limit after the other", "", () => dayMs],
      ["with names of four bytes a character", "\u{1f600}".repeat(50), () => dayMs],
      ["with a duration for each", "", (n: number) => dayMs + n],
      ["with durations of each magnitude", "", (n: number) => dayMs * 2 ** (n % 40)],
    ])(
      "stay used up at every process while another makes new counters %s",
      async (_, name, duration) => {
        const [one, other] = [await startNode(), await startNode()];
        await one.take("ws_1/rlns_2/anna");
        const emptyBytes = await usedBytes();

        for (let call = 0; call < 300; call += 1) {
          const limits = flood(call).map((limit, n) => ({
            ...{ ...limit, key: `${limit.key}${name}`, durationMs: duration(call * 100 + n) },
          }));
          const node = call % 2 === 0 ? one : other;
          expect((await node.limiter.take(limits, Date.now())).passed).toBe(true);
        }

        expect(one.isShared() && other.isShared()).toBe(true);
        expect((await other.take("ws_1/rlns_2/anna")).passed).toBe(false);
        expect((await one.take("ws_1/rlns_2/berta")).passed).toBe(true);
        expect((await other.take("ws_1/rlns_2/berta")).passed).toBe(false);
        expect((await usedBytes()) - emptyBytes).toBeLessThan(2 ** 22 / 3);
      },
    );

    it("are those of each process for counters beyond the share, and are counted", async () => {
      const [one, other] = [await startNode(), await startNode()];
      for (let call = 0; call < 60; call += 1) await one.limiter.take(flood(call), Date.now());

      const passed = [];
      for (const node of [one, one, other, other])
        passed.push((await node.take("ws_flood/late")).passed);

      expect(passed).toEqual([true, false, true, false]);
      expect((await other.take("ws_flood/rlns_1/0/0", { limit: 1 })).passed).toBe(false);
      expect(await one.registry.metrics()).toMatch(/counters_evicted_total\{for="own"\} [1-9]/);
    });

    it("are shared again beyond an earlier flood once its windows have passed", async () => {
      const [one, other] = [await startNode(), await startNode()];
      const brief = (call: number) => flood(call).map((limit) => ({ ...limit, durationMs: 1_000 }));
      for (let call = 0; call < 60; call += 1) await one.limiter.take(brief(call), Date.now());
      let late = 0;
      const isShared = async () => {
        late += 1;
        await one.take(`ws_flood/late/${late}`);
        return !(await other.take(`ws_flood/late/${late}`)).passed;
      };

      expect(await isShared()).toBe(false);
      await waitFor(isShared, { withinMs: 30_000, what: "the share to be free again" });
    });

    it("count a counter that many windows use only once", async () => {
      let nowMs = Date.now();
      const evicted = { own: 0 };
      const parts = { url: redis.url, clock: () => nowMs, answerTimeoutMs, evicted };
      const counters = createRedisCounters(parts);
      onTestFinished(counters.close);
      await new Promise<void>((resolve) => counters.onReady(resolve));
      await counters.ping();

      for (let window = 0; window < 200; window += 1) {
        const limits = flood(0).map((limit) => ({ ...limit, durationMs: 60_000 }));
        const known = limits.map(() => undefined);
        await counters.take(limits, known);
        nowMs += 60_000;
      }

      expect(evicted.own).toBe(0);
    });
  });

  it.each<[string, string, Partial<LimitRequest>]>([
    ["the largest numbers", "big", { limit: most, cost: most, durationMs: most }],
    ["numbers beyond 53 bits", "beyond", { limit: 2 ** 63, cost: 2 ** 63, durationMs: 2 ** 63 }],
    ["a cost of nothing", "none", { limit: most, cost: 0, durationMs: 1_000 }],
    ["braces, as of slots", "}{ws_1}:{", {}],
    ["a zero byte", "a\0b", {}],
    ["a lone surrogate", "\ud800", {}],
    ["a line of the protocol", "\r\n*1\r\n$8\r\nFLUSHALL\r\n", {}],
    ["a format of the script", "%s%d%.0f", {}],
    ["a value of a counter", "1 2 3", {}],
    ["the longest", "\u{1f600}".repeat(512), {}],
  ])("are shared by all after a call of another with %s", async (_, name, over) => {
    const [one, other] = [await startNode(), await startNode()];
    await one.take("ws_1/rlns_2/anna");

    await Promise.all([one.take(`ws_2/rlns_1/${name}`, over), one.take(`${name}/a/b`, over)]);

    expect((await other.take("ws_1/rlns_2/anna")).passed).toBe(false);
    expect(one.isShared() && other.isShared()).toBe(true);
  });
});

it("a workspace that is spread over processes takes no other's room in any of them", async () => {
  for (const limiter of [0, 1, 2].map(() => createLocalLimiter({ maxCells: 1_000 }))) {
    const take = (key: string, durationMs = dayMs) =>
      limiter.take([{ key, limit: 1, durationMs, cost: 1 }], Date.now()).passed;
    take("ws_1/rlns_2/anna");
    for (let n = 0; n < 3_000; n += 1) take(`ws_2/rlns_1/${n}`, 1_000 + (n % 7) * dayMs);
    for (let n = 0; n < 3_000; n += 1) take("workspace:ws_2", 60_000 + n);

    expect(take("ws_1/rlns_2/anna")).toBe(false);
    await limiter.close();
  }
});
