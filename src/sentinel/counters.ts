/** Counts the requests of a sentinel by status and duration, and writes the counts for Prometheus. */
import type { ServerResponse } from "node:http";

export type Counters = {
  /** Counts a request once its answer has ended. */
  watch: (outgoing: ServerResponse) => void;
  /** Prometheus' text format. */
  write: () => string;
};

/** 8 bounds a doubling, from 1 ms to 65 s: finer than an effect that matters, so that a comparison can see it. */
const perDoubling = 8;
const bounds = Array.from({ length: 16 * perDoubling + 1 }, (_, i) =>
  Number((0.001 * 2 ** (i / perDoubling)).toPrecision(4)),
);

export function createCounters(nowMs = () => performance.now(), startedAt = Date.now()): Counters {
  /** By the first bound that is no less; the last entry has those above all. */
  const durations = new Float64Array(bounds.length + 1);
  let errors = 0;
  const count = (status: number, ms: number) => {
    const at = Math.ceil(Math.log2(ms) * perDoubling);
    const index = Math.min(bounds.length, Math.max(0, at || 0));
    durations[index] = (durations[index] as number) + 1;
    if (status >= 500) errors += 1;
  };
  return {
    watch: (outgoing) => {
      const fromMs = nowMs();
      // An answer that has not started is of a caller that went away: it has no status.
      outgoing.once("close", () => {
        if (outgoing.headersSent) count(outgoing.statusCode, nowMs() - fromMs);
      });
    },
    write: () => writeMetrics({ durations, errors, startedAt }),
  };
}

type Counts = { durations: Float64Array; errors: number; startedAt: number };

function writeMetrics({ durations, errors, startedAt }: Counts): string {
  let total = 0;
  const buckets = bounds.map((bound, i) => {
    total += durations[i] as number;
    return `sentinel_request_duration_seconds_bucket{le="${bound}"} ${total}`;
  });
  total += durations[bounds.length] as number;
  const lines = [
    "# TYPE sentinel_requests_total counter",
    `sentinel_requests_total ${total}`,
    "# HELP sentinel_errors_total Answers with a status of 500 or above.",
    "# TYPE sentinel_errors_total counter",
    `sentinel_errors_total ${errors}`,
    "# TYPE sentinel_request_duration_seconds histogram",
    ...buckets,
    `sentinel_request_duration_seconds_bucket{le="+Inf"} ${total}`,
    `sentinel_request_duration_seconds_count ${total}`,
    "# TYPE process_start_time_seconds gauge",
    `process_start_time_seconds ${startedAt / 1_000}`,
  ];
  return `${lines.join("\n")}\n`;
}
