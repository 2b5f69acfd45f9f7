/** The public API's metrics. Counting costs a request next to nothing. */
import type { FastifyInstance, FastifyReply } from "fastify";
import { Counter, Gauge, type Registry } from "prom-client";
import type { EngineState } from "#api/analytics/engine/engine.ts";
import type { RecorderCounters } from "#api/analytics/recording/recorder.ts";

/** Upper bounds of the buckets, seconds. */
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60] as const;

class Tally {
  readonly statuses = new Map<number, number>();
  /** One more than bounds: the last one is for requests longer than all of them. */
  readonly buckets = new Array<number>(bounds.length + 1).fill(0);
  seconds = 0;

  add(status: number, seconds: number): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    let bucket = 0;
    while (bucket < bounds.length && seconds > (bounds[bucket] ?? 0)) bucket += 1;
    this.buckets[bucket] = (this.buckets[bucket] ?? 0) + 1;
    this.seconds += seconds;
  }
}

/** Counts requests of a path that Fastify has not seen; undefined: they are not counted. */
export type CounterOf = (path: string) => CountRequest | undefined;
export type CountRequest = (status: number, seconds: number) => void;

/** The caller closed the connection before the answer was sent. */
export const callerGone = 499;

/** Has to be called before the routes are mounted. */
export function countRequests(app: FastifyInstance, registry: Registry): CounterOf {
  const tallies = new Map<string, Tally>();
  app.addHook("onRoute", (route) => {
    const name = procedureOf(route.url);
    if (name === undefined) return;
    const tally = tallies.get(name) ?? new Tally();
    tallies.set(name, tally);
    route.onRequest = (_request, reply, done) => {
      const startedAtMs = performance.now();
      // Fastify does not call `onResponse` when the caller has closed the connection.
      reply.raw.on("close", () => {
        tally.add(statusOf(reply), (performance.now() - startedAtMs) / 1_000);
      });
      done();
    };
  });
  registerRequests(registry, tallies);
  return (path) => {
    const tally = tallies.get(procedureOf(path) ?? "");
    return tally && ((status, seconds) => tally.add(status, seconds));
  };
}

/** `/v2/keys.verifyKey` is `keys.verifyKey`. Pages of documentation are not counted. */
function procedureOf(url: string): string | undefined {
  return /^\/v2\/([A-Za-z]+(?:\.[A-Za-z]+)?)$/.exec(url)?.[1];
}

function statusOf(reply: FastifyReply): number {
  return reply.raw.writableFinished ? reply.statusCode : callerGone;
}

/** The values are computed at each scrape: the library's `inc` and `observe` look their labels up each time. */
function registerRequests(registry: Registry, tallies: ReadonlyMap<string, Tally>): void {
  new Counter({
    name: "vedette_api_requests_total",
    help: "Requests to the public API by procedure and status; 499: the caller went away.",
    labelNames: ["procedure", "status"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [procedure, { statuses }] of tallies) {
        for (const [status, count] of statuses) this.inc({ procedure, status }, count);
      }
    },
  });
  registry.registerMetric(durations(tallies));
}

const durationName = "vedette_api_request_duration_seconds";

/** A histogram with the interface by which the registry reads metrics. */
function durations(tallies: ReadonlyMap<string, Tally>) {
  const about = {
    name: durationName,
    help: "How long requests to the public API took, from their headers to the end of the answer.",
    type: "histogram",
    aggregator: "sum",
  };
  const histogram = {
    ...about,
    get: async () => ({
      ...about,
      values: [...tallies].flatMap(([procedure, tally]) => samplesOf(procedure, tally)),
    }),
    reset: () => {},
  };
  return histogram as unknown as Gauge;
}

function samplesOf(procedure: string, { buckets, seconds }: Tally) {
  let count = 0;
  const samples = buckets.map((inBucket, index) => {
    count += inBucket;
    const le = bounds[index] ?? "+Inf";
    return { metricName: `${durationName}_bucket`, labels: { procedure, le }, value: count };
  });
  if (count === 0) return [];
  return [
    ...samples,
    { metricName: `${durationName}_sum`, labels: { procedure }, value: seconds },
    { metricName: `${durationName}_count`, labels: { procedure }, value: count },
  ];
}

type Counters = { counters: { hits: number; misses: number; outage: number } };

/** `outage`: answered from an expired record while the database did not answer. */
export function countCaches(caches: Record<string, Counters>, registry: Registry): void {
  new Counter({
    name: "vedette_api_cache_total",
    help: "Records looked up in a cache: hits, misses, and outage (the database was away).",
    labelNames: ["cache", "result"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [cache, { counters }] of Object.entries(caches)) {
        this.inc({ cache, result: "hit" }, counters.hits);
        this.inc({ cache, result: "miss" }, counters.misses);
        this.inc({ cache, result: "outage" }, counters.outage);
      }
    },
  });
}

/** Registers a gauge: 0 while this process receives no invalidations, and cached records therefore expire quickly. */
export function registerInvalidations(isLive: () => boolean, registry: Registry): void {
  new Gauge({
    name: "vedette_api_invalidations_live",
    help: "1 while this process hears what other processes change, else 0.",
    aggregator: "min",
    registers: [registry],
    collect() {
      this.set(isLive() ? 1 : 0);
    },
  });
}

/** Metrics of recorded events, and of the store's availability. */
export function countAnalytics(
  { counters, state }: { counters: () => RecorderCounters; state: () => EngineState },
  registry: Registry,
): void {
  new Counter({
    name: "vedette_analytics_events_total",
    help: "Events recorded, confirmed by the store, and dropped for want of space.",
    labelNames: ["result"],
    registers: [registry],
    collect() {
      this.reset();
      const { recorded, stored, dropped } = counters();
      for (const [result, count] of Object.entries({ recorded, stored, dropped })) {
        this.inc({ result }, count);
      }
    },
  });
  new Gauge({
    name: "vedette_analytics_waiting_events",
    help: "Events on their way to the store, in memory and on disk.",
    labelNames: ["place"],
    registers: [registry],
    collect() {
      const { buffered, spooled } = counters();
      this.set({ place: "memory" }, buffered);
      this.set({ place: "disk" }, spooled);
    },
  });
  new Gauge({
    name: "vedette_analytics_store_up",
    help: "1 while the store of analytics can be asked, else 0.",
    aggregator: "min",
    registers: [registry],
    collect() {
      this.set(["ready", "resting"].includes(state()) ? 1 : 0);
    },
  });
}
