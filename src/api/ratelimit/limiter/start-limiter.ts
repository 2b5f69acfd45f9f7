/** Creates the limiter that the settings select, with its log lines and metrics. */
import { Counter, Gauge, type Registry } from "prom-client";
import type { Limiter, LimitRequest, TakeAnswer } from "#api/limiter.ts";
import type { Log } from "#kernel/log.ts";
import { Cells } from "./cells.ts";
import { createLimiterOn, type LocalLimiter } from "./local-limiter.ts";
import { createRedisCounters, type RedisCounters } from "./redis-counters.ts";
import { answerBatch } from "./window.ts";

// Limits that all processes share. While Redis cannot be reached, the process limits by itself, from the
// last counters that it knows, and reports the change of mode; when Redis is back, the counts of the
// meantime are sent to it.

/** `alone`: no other process counts what this process lets pass. */
type Mode = "shared" | "alone";

type SharedLimiterParts = {
  counters: RedisCounters;
  /** Counts in this process while Redis is away. */
  local: LocalLimiter;
  /** Each change of the mode, and why. */
  onMode: (mode: Mode, reason: string) => void;
};

/** While alone, the interval at which Redis is pinged. */
const probeEveryMs = 250;

/** A start waits so long for Redis. */
const startTimeoutMs = 1_500;

/** Resolves when Redis has answered, or when this process has started alone. */
export async function startSharedLimiter(parts: SharedLimiterParts): Promise<Limiter> {
  const { counters, local } = parts;
  const link = watchLink(parts);
  await link.firstKnown;
  return {
    take: (requests, nowMs) => {
      if (link.mode() === "alone") return local.take(requests, nowMs);
      return takeShared(counters, local, requests).catch((error: Error) => {
        link.lose(error);
        return local.take(requests, nowMs);
      });
    },
    close: async () => {
      link.close();
      await local.close();
    },
  };
}

async function takeShared(
  counters: RedisCounters,
  local: LocalLimiter,
  requests: readonly LimitRequest[],
): Promise<TakeAnswer> {
  const counted = await counters.take(requests, requests.map(local.peek));
  for (const [index, { cell }] of counted.entries()) {
    if (cell.current + cell.previous > 0) local.learn(requests[index] as LimitRequest, cell);
  }
  return answerBatch(
    requests,
    counted.map(({ usage }) => usage),
  );
}

/** Tracks whether Redis answers, and pings it while it does not. */
function watchLink({ counters, onMode }: Omit<SharedLimiterParts, "local">) {
  let mode: Mode | undefined;
  let isClosed = false;
  let lastFault = "no answer";
  const known = Promise.withResolvers<void>();
  const become = (next: Mode, reason: string) => {
    if (mode === next || isClosed) return;
    mode = next;
    known.resolve();
    onMode(next, reason);
  };
  const probe = () => {
    if (mode === "shared") return;
    counters.ping().then(
      () => become("shared", "Redis answers"),
      // The next ping follows.
      () => {},
    );
  };
  const timer = setInterval(probe, probeEveryMs).unref();
  const lose = (error: Error) => become("alone", error.message);
  counters.onReady(probe);
  counters.onLost((error) => {
    lastFault = error.message;
    // Before the first answer there is nothing to lose: the start's timeout applies.
    if (mode === "shared") lose(error);
  });
  const startTimer = setTimeout(() => {
    if (mode === undefined) become("alone", lastFault);
  }, startTimeoutMs);
  return {
    mode: () => mode,
    lose,
    firstKnown: known.promise.finally(() => clearTimeout(startTimer)),
    close: () => {
      isClosed = true;
      clearInterval(timer);
      counters.close();
    },
  };
}

type LimiterSettings = {
  /** Empty: limits are those of this process alone. */
  redisUrl: string;
  log: Log;
  registry: Registry;
  /** The counters of all threads of this process; absent: it has one thread. */
  cells?: Cells | undefined;
  /** Redis may take so long to answer; absent: the default of `redis-counters.ts`. */
  answerTimeoutMs?: number;
};

export async function startLimiter(settings: LimiterSettings): Promise<Limiter> {
  const { redisUrl, log, registry, answerTimeoutMs, cells = new Cells() } = settings;
  const local = createLimiterOn(cells);
  countEvictions(cells, registry);
  if (redisUrl === "") return local;
  const recordMode = createModeMetrics(registry);
  return startSharedLimiter({
    counters: createRedisCounters({ url: redisUrl, answerTimeoutMs, evicted: cells.evicted }),
    local,
    onMode: (mode, reason) => {
      recordMode(mode);
      if (mode === "shared") log.info("rate limits are shared over Redis");
      else log.warn({ detail: reason }, "rate limits of this process alone: Redis is away");
    },
  });
}

function countEvictions({ evicted }: Cells, registry: Registry): void {
  new Counter({
    name: "vedette_api_ratelimit_counters_evicted_total",
    help: "Counters removed, or not shared, for lack of room: for the own workspace of them, or another.",
    labelNames: ["for"],
    registers: [registry],
    collect() {
      this.reset();
      this.inc({ for: "own" }, evicted.own);
      this.inc({ for: "other" }, evicted.other);
    },
  });
}

function createModeMetrics(registry: Registry): (mode: Mode) => void {
  const shared = new Gauge({
    name: "vedette_api_ratelimit_shared",
    help: "1 while rate limits are shared over Redis, 0 while this process limits by itself.",
    aggregator: "min",
    registers: [registry],
  });
  const changes = new Counter({
    name: "vedette_api_ratelimit_mode_changes_total",
    help: "How often this process lost Redis, or found it again.",
    labelNames: ["mode"],
    registers: [registry],
  });
  return (mode) => {
    shared.set(mode === "shared" ? 1 : 0);
    changes.inc({ mode });
  };
}
