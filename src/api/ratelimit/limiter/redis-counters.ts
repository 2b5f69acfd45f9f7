/** Counters in Redis that all processes share: one script takes a whole batch or nothing of it. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Redis } from "ioredis";
import { createTimeLimit } from "#api/http/time-limit.ts";
import type { LimitRequest } from "#api/limiter.ts";
import type { Cell, Look } from "./window.ts";

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

/** The state found, and the counter afterwards. */
type CountedLook = { look: Look; cell: Cell };

export type RedisCounters = {
  /** `known`: the counters as this process knows them. Throws when Redis does not answer in time. */
  take: (
    requests: readonly LimitRequest[],
    known: readonly (Cell | undefined)[],
  ) => Promise<CountedLook[]>;
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
};

/** Connects in the background, and reconnects when the connection is lost. */
export function createRedisCounters(settings: RedisSettings): RedisCounters {
  const { url, clock, answerTimeoutMs = usualAnswerTimeoutMs } = settings;
  const redis = new Redis(url, {
    connectionName: "vedette-limits",
    connectTimeout: connectTimeoutMs,
    socketTimeout: silenceMs,
    retryStrategy: (tries) => Math.min(tries * 50, reconnectAtMostMs),
    // Requests do not queue while Redis is away: this process counts them by itself.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // Commands of one turn of the event loop are sent in one packet.
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

/**
 * In a cluster a script may only use keys of one slot, which the part in braces determines: the key up to
 * the first slash, the workspace, which is the same for a whole batch.
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
