/**
 * Counters in Redis that all processes share. The calls of one turn of the event loop go there together, and
 * those of a workspace in one script (take-batch.ts); of each call the script takes all limits or none.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Redis } from "ioredis";
import { createTimeLimit } from "#api/http/time-limit.ts";
import type { LimitRequest } from "#api/limiter.ts";
import { type CountedUsage, createBatches, type TakeBatch } from "./take-batch.ts";
import type { Cell } from "./window.ts";

const script = readFileSync(new URL("./take.lua", import.meta.url), "utf8");
const scriptSha = createHash("sha1").update(script).digest("hex");

/** Longer than a healthy Redis takes, shorter than a caller would notice. */
const usualAnswerTimeoutMs = 250;
const connectTimeoutMs = 1_000;
const reconnectAtMostMs = 1_000;

/** A connection without traffic for so long is replaced. */
const silenceMs = 5_000;

const closed = new Error("connection closed");

/** The counter of the health check: a full Redis, or a read-only replica, would still answer a plain PING. */
const probe = { key: "probe", limit: Number.MAX_SAFE_INTEGER, durationMs: 1_000, cost: 1 };

/** The share of the memory of Redis that counters of one workspace may have, or where that has no limit so many bytes. */
const shareOfMemory = 1 / 4;
const shareOfUnlimited = 200_000_000;

export type RedisCounters = {
  /** `known`: the counters as this process knows them. Throws when Redis does not answer in time. */
  take: (
    requests: readonly LimitRequest[],
    known: readonly (Cell | undefined)[],
  ) => Promise<CountedUsage[]>;
  /** Throws when Redis does not answer in time, or does not count. */
  ping: () => Promise<void>;
  /** Called at each connect; the connection may be lost and made any number of times. */
  onReady: (listener: () => void) => void;
  onLost: (listener: (error: Error) => void) => void;
  close: () => void;
};

export type RedisSettings = {
  /** redis://… or rediss://…, with its password. */
  url: string;
  /** The clock of the windows; absent: Redis's own, which all processes share. */
  clock?: () => number;
  /** The timeout of a call. */
  answerTimeoutMs?: number | undefined;
  /** Counts what is not stored because its workspace has its share of the memory. */
  evicted?: { own: number };
};

/** Connects in the background, and reconnects when the connection is lost. */
export function createRedisCounters(settings: RedisSettings): RedisCounters {
  const { url, clock, answerTimeoutMs = usualAnswerTimeoutMs, evicted = { own: 0 } } = settings;
  const redis = new Redis(url, {
    connectionName: "vedette-limits",
    connectTimeout: connectTimeoutMs,
    socketTimeout: silenceMs,
    retryStrategy: (tries) => Math.min(tries * 50, reconnectAtMostMs),
    // Requests do not queue while Redis is away: this process counts them by itself.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
  });
  const limitTime = createTimeLimit(answerTimeoutMs, () => new Error("no answer in time"));
  let lastError = closed;
  redis.on("error", (error: Error) => {
    lastError = error;
  });
  redis.on("ready", () => {
    lastError = closed;
  });
  let share = shareOfUnlimited;
  const send = async (batch: TakeBatch): Promise<string[]> => {
    const values = batch.values(String(clock?.() ?? ""), share);
    const answer = await limitTime(run(redis, [...batch.keys, batch.sizesKey], values));
    evicted.own += Number(answer.at(-1));
    return answer;
  };
  // Not by ioredis's own pipelining: it would wait for another turn of the event loop.
  const inOnePacket = (write: () => void): void => {
    const { stream } = redis as { stream?: Redis["stream"] };
    stream?.cork();
    try {
      write();
    } finally {
      stream?.uncork();
    }
  };
  const take = createBatches({ send, inOnePacket });
  return {
    take,
    ping: async () => {
      // A user of Redis may not be allowed to ask: then the share stays as it is.
      const memory = await limitTime(redis.info("memory")).catch(() => undefined);
      const bytes = Number(/^maxmemory:(\d+)/m.exec(memory ?? "")?.[1] ?? 0);
      if (memory !== undefined) share = Math.floor(bytes * shareOfMemory) || shareOfUnlimited;
      await take([probe], [undefined]);
    },
    onReady: (listener) => redis.on("ready", listener),
    onLost: (listener) => redis.on("close", () => listener(lastError)),
    close: () => redis.disconnect(),
  };
}

/** Runs the script by its hash; sends it in full only to a Redis that does not have it yet. */
async function run(redis: Redis, keys: string[], values: string[]): Promise<string[]> {
  const rest = [keys.length, ...keys, ...values] as const;
  try {
    return (await redis.evalsha(scriptSha, ...rest)) as string[];
  } catch (error) {
    if (!(error as Error).message.startsWith("NOSCRIPT")) throw error;
    return (await redis.eval(script, ...rest)) as string[];
  }
}
