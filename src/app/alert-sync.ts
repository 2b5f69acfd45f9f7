/** Wires the worker's services for the sync of alert routes. */
import type { EndpointOptions } from "@restatedev/restate-sdk";
import type { Registry } from "prom-client";
import type { Config } from "#config.ts";
import { everyMinutes, nextTick } from "#cron/schedule.ts";
import type { ReadActor } from "#kernel/actor.ts";
import type { Database } from "#kernel/database.ts";
import type { RoutingRows } from "#routing/contract.ts";
import { createAlertRoutes } from "#routing/incident/services.ts";

type SyncParts = {
  config: Config;
  database: Database;
  registry: Registry;
  readActor: ReadActor;
  readRows: () => Promise<RoutingRows>;
};

export function createAlertSync(parts: SyncParts): EndpointOptions["services"] {
  const { config, database, registry, readActor, readRows } = parts;
  const { url, api_key: apiKey, ids_file: idsFile } = config.incident;
  const { drift_check_minutes, list_lag_seconds } = config.incident;
  return createAlertRoutes({
    incident: { url, apiKey },
    idsFile,
    checkEveryMs: drift_check_minutes * 60_000,
    nextCheckAtMs: comparesRoutes(config)
      ? (nowMs) => nextTick(everyMinutes(drift_check_minutes), nowMs)
      : undefined,
    listLagMs: list_lag_seconds * 1_000,
    readRows,
    database,
    registry,
    readActor,
  });
}

/** True if a timed job compares alert routes with their rows. */
export function comparesRoutes({ incident }: Config): boolean {
  return incident.url !== "" && incident.api_key !== "" && incident.drift_check_minutes > 0;
}
