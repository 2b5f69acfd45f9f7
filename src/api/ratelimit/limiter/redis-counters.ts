/** Counters in Redis that all processes share: one script takes a whole batch or nothing of it. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Redis } from "ioredis";
import { createTimeLimit } from "#api/http/time-limit.ts";
import type { LimitRequest } from "#api/limiter.ts";
import type { Cell, Look } from "./window.ts";

const script = readFileSync(new URL("./take.lua", import.meta.url), "utf8");
const scriptSha = createHash("sha1").update(script).digest("hex");

/** Longer than a healthy Redis ever takes, shorter than a caller would notice. */
const usualAnswerTimeoutMs = 250;
const connectTimeoutMs = 1_000;
const reconnectAtMostMs = 1_000;

/** A connection that gives no sign for so long is replaced. */
const silenceMs = 5_000;

const closed = new Error("connection closed");

/** A counter of nobody: a Redis without room, or one that only copies another, answers a plain PING. */
const probe = { key: "probe", limit: Number.MAX_SAFE_INTEGER, durationMs: 1_000, cost: 1 };

/** What was found, and the counter as it is now. */
type CountedLook = { look: Look; cell: Cell };

export type RedisCounters = {
  /** `known`: what this process knows of each counter. Throws when Redis does not answer in time. */
  take: (
    requests: readonly LimitRequest[],
    known: readonly (Cell | undefined)[],
  ) => Promise<CountedLook[]>;
  /** Throws when Redis does not answer in time, or does not count. */
  ping: () => Promise<void>;
  /** The connection is there. It may come and go any number of times. */
  onReady: (listener: () => void) => void;
  onLost: (listener: (error: Error) => void) => void;
  close: () => void;
};

export type RedisSettings = {
  /** redis://… or rediss://…, with its password. */
  url: string;
  /** The time that is counted by; absent: Redis's own clock, which is one for all processes. */
  clock?: () => number;
  /** A call is told that Redis is away after so long. */
  answerTimeoutMs?: number | undefined;
};

/** Connects by itself, and again when the connection is lost. */
export function createRedisCounters(settings: RedisSettings): RedisCounters {
  const { url, clock, answerTimeoutMs = usualAnswerTimeoutMs } = settings;
  const redis = new Redis(url, {
    connectionName: "vedette-limits",
    connectTimeout: connectTimeoutMs,
    socketTimeout: silenceMs,
    retryStrategy: (tries) => Math.min(tries * 50, reconnectAtMostMs),
    // What cannot be sent now is counted by this process: nothing waits for Redis to come back.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // What came in one turn of the event loop goes out in one packet.
    enableAutoPipelining: true,
  });
  const limitTime = createTimeLimit(answerTimeoutMs, () => new Error("no answer in time"));
  let lastError = closed;
  redis.on("error", (error: Error) => {
    lastError = error;
  });
  redis.on("ready", () => {
    lastError = closed;
  });
  return {
    take: async (requests, known) => {
      const keys = requests.map(keyOf);
      const values = requests.flatMap((request, index) => valuesOf(request, known[index]));
      const now = clock === undefined ? "" : String(clock());
      const counted = await limitTime(run(redis, keys, [now, ...values]));
      return counted.map((text, index) => readCounted(requests[index] as LimitRequest, text));
    },
    ping: async () => {
      await limitTime(run(redis, [keyOf(probe)], ["", ...valuesOf(probe, undefined)]));
    },
    onReady: (listener) => redis.on("ready", listener),
    onLost: (listener) => redis.on("close", () => listener(lastError)),
    close: () => redis.disconnect(),
  };
}

/** By its hash; in full only to a Redis that has not seen it yet. */
async function run(redis: Redis, keys: string[], values: string[]): Promise<string[]> {
  const rest = [keys.length, ...keys, ...values] as const;
  try {
    return (await redis.evalsha(scriptSha, ...rest)) as string[];
  } catch (error) {
    if (!(error as Error).message.startsWith("NOSCRIPT")) throw error;
    return (await redis.eval(script, ...rest)) as string[];
  }
}

/**
 * In a cluster a script may only touch keys of one slot, which the part in braces decides. What a key
 * begins with, up to the first slash, is the same for all of a batch: the workspace.
 */
function keyOf({ key, durationMs }: LimitRequest): string {
  const slash = key.indexOf("/");
  const owner = slash === -1 ? key : key.slice(0, slash);
  return `vedette:limit:{${owner}}:${durationMs}:${key}`;
}

function valuesOf(request: LimitRequest, known: Cell | undefined): string[] {
  const { limit, durationMs, cost } = request;
  const cell = known === undefined ? "" : `${known.sequence} ${known.current} ${known.previous}`;
  return [String(limit), String(durationMs), String(cost), cell];
}

function readCounted({ durationMs }: LimitRequest, text: string): CountedLook {
  const [passed, used, usedByOthers, sequence, current, previous] = text.split(" ").map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const endsMs = (sequence + 1) * durationMs;
  return {
    look: { passed: passed === 1, used, usedByOthers, endsMs },
    cell: { sequence, current, previous },
  };
}
