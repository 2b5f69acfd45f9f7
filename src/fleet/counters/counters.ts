/** Counters of a sentinel, as a fleet reports them, and their increments in a minute. Pure. */
import { z } from "zod";

/** Since the sentinel's start, or since ever. */
export type Counters = {
  requests: number;
  /** Answers with a status of 500 or above. */
  errors: number;
  /** The requests that took no longer, by bound in seconds; absent: not measured. */
  latency?: Record<string, number> | undefined;
  /** Requests that took longer than the fleet's own bound; counts where `latency` is absent. */
  slow?: number | undefined;
  restarts?: number | undefined;
  /** Unix ms. */
  startedAt?: number | undefined;
};

/** By sentinel. One that could not be read is absent. */
export type Snapshot = ReadonlyMap<string, Counters>;

const Count = z.number().min(0).max(1e15);
const mostBounds = 256;

const Given = z.object({
  requests: Count,
  errors: Count,
  latency: z
    .record(z.string().max(20), Count)
    .refine((buckets) => Object.keys(buckets).length <= mostBounds)
    .transform(byBound)
    .nullish()
    .transform((buckets) => buckets ?? undefined),
  slow: Count.nullish().transform((count) => count ?? undefined),
  restarts: Count.nullish().transform((count) => count ?? undefined),
  started_at: z.iso.datetime({ offset: true }).nullish(),
});

function byBound(buckets: Record<string, number>): Record<string, number> {
  const known = Object.entries(buckets).map(([bound, count]) => [Number(bound), count] as const);
  return Object.fromEntries(known.filter(([bound]) => bound > 0 && Number.isFinite(bound)));
}

/** Returns what a fleet reports of a sentinel; undefined: nothing that can be used. */
export function boundCounters(given: unknown): Counters | undefined {
  const read = Given.safeParse(given).data;
  if (read === undefined) return undefined;
  const { started_at: startedAt, ...counters } = read;
  return { ...counters, ...(startedAt && { startedAt: Date.parse(startedAt) }) };
}

/** Reads the metrics of the reference sentinel, in Prometheus' text format. */
export function parseMetrics(text: string): Counters | undefined {
  const value = (name: string) => {
    const found = new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1];
    return found === undefined ? undefined : Number(found);
  };
  const buckets = text.matchAll(
    /^sentinel_request_duration_seconds_bucket\{le="([\d.]+)"\} (\d+)$/gm,
  );
  const started = new Date((value("process_start_time_seconds") ?? Number.NaN) * 1_000);
  return boundCounters({
    requests: value("sentinel_requests_total"),
    errors: value("sentinel_errors_total"),
    latency: Object.fromEntries(
      [...buckets].map(([, bound = "", count]) => [bound, Number(count)]),
    ),
    ...(Number.isFinite(started.getTime()) && { started_at: started.toISOString() }),
  });
}

/** The bound of a fleet that counts slow requests itself, and of any until it has had requests. */
export const ownBound = 0;

/** One minute of a fleet. */
export type CountedMinute = {
  /** In order. */
  ids: string[];
  /** Bounds of slow requests in seconds, or `ownBound`. The first is the one of new rollouts. */
  bounds: number[];
  /** By sentinel: requests, errors, restarts, and slow requests of each bound; `notReported` if not known. */
  columns: Uint32Array;
  /** All requests of the minute, and those of them that took no longer, by the first 256 bounds. */
  requests: number;
  latency: Record<string, number>;
};

export const notReported = 0xffffffff;
export const fixedColumns = 3;

/** Counts what has been added between two readings a minute apart. */
export function countMinute(before: Snapshot, now: Snapshot, bounds: number[]): CountedMinute {
  const ids = [...now.keys()].sort();
  const width = fixedColumns + bounds.length;
  const columns = new Uint32Array(ids.length * width).fill(notReported);
  const latency = new Map<string, number>();
  let requests = 0;
  for (const [i, id] of ids.entries()) {
    const [was, is] = [before.get(id), now.get(id) as Counters];
    if (was === undefined) continue;
    const added = addedBetween(was, is);
    columns.set(columnsOf(added, bounds), i * width);
    requests += added.requests;
    for (const [bound, count] of Object.entries(added.latency ?? {})) {
      const known = latency.get(bound);
      if (known !== undefined || latency.size < mostBounds)
        latency.set(bound, (known ?? 0) + count);
    }
  }
  return { ids, bounds, columns, requests, latency: Object.fromEntries(latency) };
}

/** A counter below its last value has restarted from 0; another start is a restart even if no counter shows it. */
function addedBetween(was: Counters, is: Counters): Counters & { restarts: number } {
  const isReset = is.requests < was.requests || is.errors < was.errors;
  const isRestarted = isReset || (was.startedAt ?? is.startedAt) !== is.startedAt;
  const from: Counters = isReset ? { requests: 0, errors: 0 } : was;
  const requests = is.requests - from.requests;
  // One that counts nonsense would choose the fleet's bound.
  const latency = Object.entries(is.latency ?? {}).map(([bound, count]) => {
    const added = Math.max(0, count - (from.latency?.[bound] ?? 0));
    return [bound, Math.min(requests, added)] as const;
  });
  return {
    requests,
    errors: is.errors - from.errors,
    ...(is.latency !== undefined && { latency: Object.fromEntries(latency) }),
    slow: Math.max(0, (is.slow ?? 0) - (from.slow ?? 0)),
    restarts: Math.max(Number(isRestarted), (is.restarts ?? 0) - (was.restarts ?? 0)),
  };
}

function columnsOf(added: Counters & { restarts: number }, bounds: readonly number[]): number[] {
  const { requests, errors, restarts, latency, slow = 0 } = added;
  const slowOf = (bound: number) => {
    if (bound === ownBound) return latency === undefined ? slow : notReported;
    const within = latency?.[bound];
    return within === undefined ? notReported : Math.max(0, requests - within);
  };
  return [requests, errors, restarts, ...bounds.map(slowOf)].map((count) =>
    Math.min(notReported, count),
  );
}

/** Slow requests are counted by so many bounds of earlier rollouts. */
const mostKept = 3;
const mostSlow = 0.05;

/**
 * Returns the bounds to count slow requests by: the smallest that at most 5 % of the last hour's requests exceed, then those
 * of before. A bound stays while 1 % to 10 % exceed it, so that a rollout finds its bound in all hours.
 */
export function chooseBounds(
  before: readonly number[],
  hour: readonly Pick<CountedMinute, "requests" | "latency">[],
): number[] {
  const requests = hour.reduce((sum, minute) => sum + minute.requests, 0);
  const shareAbove = (bound: number) =>
    (requests - hour.reduce((sum, { latency }) => sum + (latency[bound] ?? 0), 0)) / requests;
  const known = [...new Set(hour.flatMap(({ latency }) => Object.keys(latency).map(Number)))];
  const best = known.sort((a, b) => a - b).find((bound) => shareAbove(bound) <= mostSlow);
  const [first = ownBound] = before;
  if (best === undefined || requests === 0) return before.length > 0 ? [...before] : [ownBound];
  const isGood = first !== ownBound && shareAbove(first) >= 0.01 && shareAbove(first) <= 0.1;
  if (isGood || best === first) return [...before];
  return [best, ...before.filter((bound) => bound !== best && bound !== ownBound)].slice(
    0,
    mostKept,
  );
}
