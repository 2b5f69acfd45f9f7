/** Which timed jobs are off by the settings, and which settings turn them on. */
import { isEngineInstalled } from "#api/analytics/engine/is-installed.ts";
import type { Config } from "#config.ts";
import { type CronJobName, cronJobs } from "#cron/contract.ts";
import type { MissingOfJob } from "#monitor/rules/own-jobs.ts";
import { comparesRoutes } from "./alert-sync.ts";
import { hasAlertmanager } from "./alertmanager-drift.ts";

type Installation = {
  /** Whether this process serves the public API, and so has the embedded analytics. */
  servesApi: boolean;
  isEngineInstalled?: () => boolean;
};

/** By job; of a job that is on there is none. */
export function createMissingOfJob(config: Config, here: Installation): MissingOfJob {
  const analytics = missingOfAnalytics(config, here);
  const missing: Record<CronJobName, string[]> = {
    "key-refill": [],
    "count-keys": [],
    "quota-check": analytics,
    "key-last-used-sync": analytics,
    "certificate-renewal": config.acme.names.length === 0 ? ["acme.names"] : [],
    "alertmanager-drift": hasAlertmanager(config) ? [] : ["alertmanager.production.url"],
    "alert-routes-drift": comparesRoutes(config) ? [] : missingOfRoutes(config),
  };
  return (job) => {
    const name = cronJobs.find((known) => known === job);
    return name === undefined ? [] : missing[name];
  };
}

function missingOfAnalytics({ analytics, clickhouse }: Config, here: Installation): string[] {
  if (!analytics.enabled) return ["analytics.enabled"];
  const { servesApi, isEngineInstalled: isInstalled = isEngineInstalled } = here;
  return clickhouse.url !== "" || (servesApi && isInstalled()) ? [] : ["clickhouse.url"];
}

function missingOfRoutes({ incident }: Config): string[] {
  const { url, api_key, drift_check_minutes } = incident;
  return [
    ...(url === "" ? ["incident.url"] : []),
    ...(api_key === "" ? ["incident.api_key"] : []),
    ...(drift_check_minutes > 0 ? [] : ["incident.drift_check_minutes"]),
  ];
}
