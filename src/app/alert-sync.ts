/** Wires the worker's services for the sync of alert routes. */
import type { EndpointOptions } from "@restatedev/restate-sdk";
import { type Environment, environments } from "#alerts/contract.ts";
import type { Config } from "#config.ts";
import { everyMinutes, nextTick } from "#cron/schedule.ts";
import type { ReadActor } from "#kernel/actor.ts";
import type { Database } from "#kernel/database.ts";
import { findManaged } from "#routing/alertmanager/commands.ts";
import { environmentsSharing } from "#routing/alertmanager/deliveries.ts";
import { type Drift, readDrifts, registerDrifts } from "#routing/alertmanager/drift.ts";
import { compare } from "#routing/alertmanager/keep.ts";
import { createAlertRoutes } from "#routing/incident/services.ts";
import type { Base } from "./base.ts";
import type { ProgramDefinitions } from "./definitions.ts";

type SyncParts = {
  database: Database;
  readActor: ReadActor;
  definitions: Pick<ProgramDefinitions, "readRows">;
};

export function createAlertSync(
  { config, registry }: Base,
  { database, readActor, definitions }: SyncParts,
): EndpointOptions["services"] {
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
    readRows: definitions.readRows,
    database,
    registry,
    readActor,
  });
}

/** True if a timed job compares alert routes with their rows. */
export function comparesRoutes({ incident }: Config): boolean {
  return incident.url !== "" && incident.api_key !== "" && incident.drift_check_minutes > 0;
}

/** undefined: the settings name no alert manager. One that environments share is checked once. */
export function watchAlertmanagers(
  { config, registry }: Base,
  { readRows }: Pick<ProgramDefinitions, "readRows">,
): (() => Promise<Drift[]>) | undefined {
  const { alertmanager } = config;
  const watched = environments
    .filter((name) => isSet(config, name))
    .filter((name) => environmentsSharing(name, alertmanager, environments)[0] === name);
  if (watched.length === 0) return undefined;
  const checks = watched.map((environment) => ({
    environment,
    compare: async () =>
      compare(await findManaged({ ...config, ...(await readRows()) }, environment)),
  }));
  const read = () => readDrifts(checks);
  registerDrifts(read, registry);
  return read;
}

export function hasAlertmanager(config: Config): boolean {
  return environments.some((name) => isSet(config, name));
}

function isSet({ alertmanager }: Config, name: Environment): boolean {
  return alertmanager[name].config_file !== "" || alertmanager[name].url !== "";
}
