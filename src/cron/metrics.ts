import pRetry, { AbortError } from "p-retry";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { request } from "#kernel/http.ts";
import { type CronJobName, type CronRun, cronJobs } from "./contract.ts";

export type CronMetrics = { count: (job: CronJobName, run: CronRun) => void };

export function createCronMetrics(registry: Registry): CronMetrics {
  const runs = new Counter({
    name: "vedette_cron_runs_total",
    help: "Runs of a timed job by how they ended.",
    labelNames: ["job", "outcome"],
    registers: [registry],
  });
  // Prometheus sees no increase of a counter that appears with its first value.
  for (const job of cronJobs) {
    for (const outcome of ["succeeded", "failed"]) runs.inc({ job, outcome }, 0);
  }
  const lastSuccess = new Gauge({
    name: "vedette_cron_last_success_timestamp_seconds",
    help: "When the last successful run ended, as far as this process knows.",
    labelNames: ["job"],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: "vedette_cron_run_seconds",
    help: "How long a run of a timed job took.",
    labelNames: ["job"],
    buckets: [0.1, 0.5, 1, 5, 15, 60, 300, 1_800],
    registers: [registry],
  });
  return {
    count: (job, { outcome, started_at, ended_at }) => {
      const endedAtMs = Date.parse(ended_at);
      runs.inc({ job, outcome });
      seconds.observe({ job }, (endedAtMs - Date.parse(started_at)) / 1_000);
      if (outcome === "succeeded") lastSuccess.set({ job }, endedAtMs / 1_000);
    },
  };
}

// Pings the heartbeat of a job after a successful run.

/** Requests the URL; retries only a transient failure. Returns the failure, or null after success. */
export type PingHeartbeat = (url: string) => Promise<string | null>;

const attemptTimeoutMs = 10_000;

export function createPingHeartbeat(retry = { minTimeout: 1_000, maxTimeout: 10_000 }) {
  const ping: PingHeartbeat = async (url) => {
    try {
      await pRetry(() => attempt(url), { retries: 3, ...retry });
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  };
  return ping;
}

/** No error message contains the URL, neither ours nor the client's: its path is a token. */
async function attempt(url: string): Promise<void> {
  const status = await statusOf(url);
  if (status < 300) return;
  const error = new Error(`status ${status}`);
  const isTransient = status >= 500 || status === 408 || status === 429;
  throw isTransient ? error : new AbortError(error);
}

async function statusOf(url: string): Promise<number> {
  try {
    const signal = AbortSignal.timeout(attemptTimeoutMs);
    const { statusCode, body } = await request(url, { method: "GET", signal });
    await body.dump();
    return statusCode;
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException;
    throw new Error(`not reached: ${code ?? name}`);
  }
}
