/** Wires the sync of alert routes: what the worker serves. */
import type { EndpointOptions } from "@restatedev/restate-sdk";
import type { Registry } from "prom-client";
import type { Config } from "#config.ts";
import type { Database } from "#kernel/database.ts";
import { createAlertRoutes } from "#routing/incident/services.ts";
import { routes, sources } from "#routing/routes.ts";

type SyncParts = { config: Config; database: Database; registry: Registry };

export function createAlertSync(parts: SyncParts): EndpointOptions["services"] {
  const { config, database, registry } = parts;
  const { url, api_key: apiKey, ids_file: idsFile } = config.incident;
  const { drift_check_minutes, list_lag_seconds } = config.incident;
  return createAlertRoutes({
    incident: { url, apiKey },
    idsFile,
    checkEveryMs: drift_check_minutes * 60_000,
    listLagMs: list_lag_seconds * 1_000,
    rows: { routes, sources },
    database,
    registry,
  });
}
