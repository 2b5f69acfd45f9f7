/** What one workspace does over Redis, which several processes share, to the limits of another. */
import { pino } from "pino";
import { Registry } from "prom-client";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { LimitRequest } from "#api/limiter.ts";
import { createLocalLimiter } from "#api/ratelimit/limiter/local-limiter.ts";
import { startLimiter } from "#api/ratelimit/limiter/start-limiter.ts";
import { hasPrograms } from "../../support/servers/programs.ts";
import { startTestRedis, type TestRedis } from "../../support/servers/redis.ts";

let redis: TestRedis;

const dayMs = 86_400_000;
const most = Number.MAX_SAFE_INTEGER;

/** A machine that stands still for a moment is no Redis that is away. */
const answerTimeoutMs = 30_000;

/** One process's worth of limiter; `lines` are what it logs. */
async function startNode() {
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line) => lines.push(line) });
  const parts = { redisUrl: redis.url, log, registry: new Registry(), answerTimeoutMs };
  const limiter = await startLimiter(parts);
  onTestFinished(limiter.close);
  const take = async (key: string, over: Partial<LimitRequest> = {}) =>
    limiter.take([{ key, limit: 1, durationMs: dayMs, cost: 1, ...over }], Date.now());
  return { limiter, take, isShared: () => !lines.join("").includes("this process alone") };
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
