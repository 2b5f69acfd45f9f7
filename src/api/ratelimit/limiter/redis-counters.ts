/** Counters in Redis, for all processes. A turn's calls go together, a workspace's in one script (take-batch.ts): all or none. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Redis } from "ioredis";
import { createTimeLimit } from "#api/http/time-limit.ts";
import { type LimitRequest, ownerOf } from "#api/limiter.ts";
import { nameOf } from "./local-limiter.ts";
import type { Cell, Usage } from "./window.ts";

/** The state found, and the counter afterwards. */
type CountedUsage = { usage: Usage; cell: Cell };

/** `known`: the counters as this process knows them. */
type Take = (
  requests: readonly LimitRequest[],
  known: readonly (Cell | undefined)[],
) => Promise<CountedUsage[]>;

/** A batch with so many limits is sent at once. They take Redis well below a millisecond, in which it serves nobody else. */
const limitsPerBatch = 100;

/** Most batches of one workspace in flight: its further requests wait here, not before others in Redis. */
const batchesUnderWay = 4;

type Line = { waiting: TakeBatch[]; underWay: number };

type BatchSettings = {
  /** Runs the script; if it throws, so does every call of the batch. */
  send: (batch: TakeBatch) => Promise<string[]>;
  /** Calls `write`, and puts into one packet what it sends. */
  inOnePacket: (write: () => void) => void;
};

/** Batches of calls for take.lua: what a turn of the event loop asks of Redis for one workspace. */
export function createBatches({ send, inOnePacket }: BatchSettings): Take {
  const lines = new Map<string, Line>();
  let isTurnEnding = false;
  const advance = (line: Line, owner: string): void => {
    while (line.underWay < batchesUnderWay) {
      const batch = line.waiting.shift();
      if (batch === undefined) break;
      line.underWay += 1;
      send(batch)
        .then(batch.answer)
        // The waiting ones would fail as late, one after the other.
        .catch((error) => {
          for (const one of [batch, ...line.waiting.splice(0)]) one.fail(error);
        })
        .finally(() => {
          line.underWay -= 1;
          advance(line, owner);
        });
    }
    if (line.underWay === 0) lines.delete(owner);
  };
  const endTurn = () => {
    isTurnEnding = false;
    inOnePacket(() => lines.forEach(advance));
  };
  return (requests, known) =>
    new Promise((resolve, reject) => {
      const owner = ownerOf(requests[0]?.key ?? "");
      if (!isTurnEnding) setImmediate(endTurn);
      isTurnEnding = true;
      const line = lines.get(owner) ?? { waiting: [], underWay: 0 };
      lines.set(owner, line);
      const batch = openIn(line);
      batch.add({ requests, resolve, reject }, known);
      if (batch.isFull()) advance(line, owner);
    });
}

/** The batch that takes the next call. */
function openIn({ waiting }: Line): TakeBatch {
  const last = waiting.at(-1);
  if (last?.isFull() === false) return last;
  const batch = new TakeBatch();
  waiting.push(batch);
  return batch;
}

type WaitingCall = {
  requests: readonly LimitRequest[];
  resolve: (usages: CountedUsage[]) => void;
  reject: (error: Error) => void;
};

/** All calls of a batch are of one workspace. */
export class TakeBatch {
  readonly keys: string[] = [];
  /** Has the sizes of all counters of the workspace. */
  sizesKey = "";
  readonly #calls: WaitingCall[] = [];
  readonly #values: string[] = [];

  add(call: WaitingCall, known: readonly (Cell | undefined)[]): void {
    this.#calls.push(call);
    for (const [index, request] of call.requests.entries()) {
      const { limit, durationMs, cost } = request;
      this.sizesKey = slotOf(request);
      this.keys.push(`${this.sizesKey}:${nameOf(request).replace("/", ":")}`);
      this.#values.push(String(limit), String(durationMs), String(cost), textOf(known[index]));
    }
  }

  isFull(): boolean {
    return this.keys.length >= limitsPerBatch;
  }

  /** The script's ARGV. `now`: unix milliseconds, or empty. `share`: bytes that the workspace's counters may have. */
  values(now: string, share: number): string[] {
    const counts = this.#calls.map(({ requests }) => requests.length);
    const hasOneEach = counts.every((count) => count === 1);
    return [now, hasOneEach ? "" : counts.join(" "), String(share), ...this.#values];
  }

  readonly answer = (counted: readonly string[]): void => {
    let next = 0;
    for (const { requests, resolve } of this.#calls) {
      resolve(requests.map((request) => readCounted(request, counted[next++] ?? "")));
    }
  };

  readonly fail = (error: Error): void => {
    for (const { reject } of this.#calls) reject(error);
  };
}

/** Returns the part of the key in braces, which determines its slot: a cluster's script may only use keys of one slot. */
function slotOf({ key }: LimitRequest): string {
  return `vedette:limit:{${ownerOf(key)}}`;
}

function textOf(cell: Cell | undefined): string {
  return cell === undefined ? "" : `${cell.sequence} ${cell.current} ${cell.previous}`;
}

function readCounted({ durationMs }: LimitRequest, text: string): CountedUsage {
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
    usage: { passed: passed === 1, used, usedByOthers, endsMs },
    cell: { sequence, current, previous },
  };
}

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

type RedisSettings = {
  /** redis://… or rediss://…, with its password. */
  url: string;
  /** The clock of the windows; absent: Redis's own, which all processes share. */
  clock?: () => number;
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
