/** Wires the timed jobs. */
import type { EndpointOptions } from "@restatedev/restate-sdk";
import { createWriteLastUsed } from "#api/access/key-uses.ts";
import type { AnalyticsStore } from "#api/analytics/parts.ts";
import { createReadLastUses, createReadUsage } from "#api/analytics/usage.ts";
import { createCountKeys, createReadOverQuota } from "#api/upkeep/quota.ts";
import { createRefillKeys } from "#api/upkeep/refill.ts";
import type { Config } from "#config.ts";
import type { CronJobName } from "#cron/contract.ts";
import {
  createAlertmanagerDrift,
  createAlertRoutesDrift,
  createFleetDrift,
} from "#cron/jobs/drift.ts";
import {
  createCertificateRenewal,
  createCountKeys as createCountKeysJob,
  createKeyLastUsedSync,
  createKeyRefill,
} from "#cron/jobs/keys.ts";
import { createQuotaCheck } from "#cron/jobs/quota-check.ts";
import { createCronMetrics, createPingHeartbeat } from "#cron/metrics.ts";
import type { Jobs } from "#cron/object.ts";
import { createCronServices } from "#cron/run.ts";
import type { ReadActor } from "#kernel/actor.ts";
import type { Database } from "#kernel/database.ts";
import type { MissingOfJob } from "#monitor/rules/own-jobs.ts";
import { notifyHeartbeats } from "#monitor/start.ts";
import { driftCheckOf } from "#rollout/desired/reconciler.ts";
import type { DriftReport } from "#routing/incident/contract.ts";
import { driftCheck } from "#routing/incident/services.ts";
import { comparesRoutes, watchAlertmanagers } from "./alert-sync.ts";
import type { Analytics } from "./analytics.ts";
import type { Base } from "./base.ts";
import type { ProgramDefinitions } from "./definitions.ts";
import { fleetsOf } from "./fleets.ts";
import { createRenewal } from "./https.ts";

type CronParts = {
  database: Database;
  readActor: ReadActor;
  definitions: Pick<ProgramDefinitions, "readRows">;
  analytics: Pick<Analytics, "reading">;
  missingOfJob: MissingOfJob;
};

/** The services of the timed jobs. A job that lacks what it needs is off. */
export function createCron(base: Base, parts: CronParts): EndpointOptions["services"] {
  const { config, registry } = base;
  const { database, readActor, missingOfJob } = parts;
  // Without the library of the embedded engine there is a store, but it never answers.
  const store =
    missingOfJob("quota-check").length === 0 ? parts.analytics.reading?.store : undefined;
  const readDrifts = watchAlertmanagers(base, parts.definitions);
  const renewCertificate = createRenewal(base, database);
  return createCronServices({
    readActor,
    jobs: {
      "key-refill": createKeyRefill(createRefillKeys(database)),
      "fleet-drift": createFleetDrift(
        fleetsOf(config).map(({ name: fleet }) => ({ fleet, check: driftCheckOf(fleet) })),
      ),
      "count-keys": createCountKeysJob(createCountKeys(database, registry)),
      ...(store !== undefined && analyticsJobs(database, store)),
      ...(renewCertificate !== undefined && {
        "certificate-renewal": createCertificateRenewal(renewCertificate),
      }),
      ...(readDrifts !== undefined && {
        "alertmanager-drift": createAlertmanagerDrift(readDrifts),
      }),
      ...(comparesRoutes(config) && {
        "alert-routes-drift": createAlertRoutesDrift({
          minutes: config.incident.drift_check_minutes,
          compare: (run) => run.call<DriftReport>(driftCheck),
        }),
      }),
    },
    heartbeatUrlOf: (job) => config.cron[settingOf[job]].heartbeat_url || undefined,
    pingHeartbeat: createPingHeartbeat(),
    successCall: (job, atMs) => notifyHeartbeats({ job, atMs }),
    metrics: createCronMetrics(registry),
  });
}

function analyticsJobs(database: Database, store: AnalyticsStore): Jobs {
  const readLastUses = createReadLastUses(store);
  const writeLastUsed = createWriteLastUsed(database);
  return {
    "quota-check": createQuotaCheck(createReadOverQuota(database, createReadUsage(store))),
    "key-last-used-sync": createKeyLastUsedSync(async (from) => {
      const { uses, cursor, isDone } = await readLastUses(from, Date.now());
      return { synced: await writeLastUsed(uses), cursor, isDone };
    }),
  };
}

const settingOf = {
  "key-refill": "key_refill",
  "count-keys": "count_keys",
  "quota-check": "quota_check",
  "key-last-used-sync": "key_last_used_sync",
  "certificate-renewal": "certificate_renewal",
  "alertmanager-drift": "alertmanager_drift",
  "alert-routes-drift": "alert_routes_drift",
  "fleet-drift": "fleet_drift",
} as const satisfies Record<CronJobName, keyof Config["cron"]>;
