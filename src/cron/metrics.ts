import { Counter, Gauge, Histogram, type Registry } from "prom-client";
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
