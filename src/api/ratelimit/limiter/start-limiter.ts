/** Creates the limiter that the settings select, with its log lines and metrics. */
import { Counter, Gauge, type Registry } from "prom-client";
import type { Limiter } from "#api/limiter.ts";
import type { Log } from "#kernel/log.ts";
import { Cells } from "./cells.ts";
import { createLimiterOn } from "./local-limiter.ts";
import { createRedisCounters } from "./redis-counters.ts";
import { type Mode, startSharedLimiter } from "./shared-limiter.ts";

export type LimiterSettings = {
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
