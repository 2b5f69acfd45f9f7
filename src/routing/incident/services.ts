/** Everything of the sync of alert routes that Restate calls, put together. */
import type { Registry } from "prom-client";
import type { Database } from "#kernel/database.ts";
import { createBackupStore } from "./backups.ts";
import { readIdsFile } from "./ids-file.ts";
import { createShowDrift } from "./metrics.ts";
import { createAlertRoutesObject } from "./object.ts";
import type { Rows } from "./resolve.ts";
import { createApplyService } from "./run.ts";
import { createSend } from "./transport.ts";

export type AlertRoutesParts = {
  /** `url` without a slash at its end; one of the two empty: nothing is applied or looked at. */
  incident: { url: string; apiKey: string };
  idsFile: string;
  /** How often drift is looked for, by a timed job. */
  checkEveryMs: number;
  /** When drift is looked for next; undefined: it is not looked for. */
  nextCheckAtMs: ((nowMs: number) => number) | undefined;
  /** How long a route may be there before lists show it. */
  listLagMs: number;
  rows: Rows;
  database: Database;
  registry: Registry;
};

export function createAlertRoutes(parts: AlertRoutesParts) {
  const { incident, idsFile, nextCheckAtMs, listLagMs, rows, database, registry } = parts;
  const isConfigured = incident.url !== "" && incident.apiKey !== "";
  const incidentUrl = isConfigured ? incident.url : "";
  const backups = createBackupStore(database);
  return [
    createAlertRoutesObject({ incidentUrl, nextCheckAtMs, listLagMs, backups }),
    createApplyService({
      send: createSend(incident),
      incidentUrl,
      listLagMs,
      rows,
      readGivenIds: () => readIdsFile(idsFile),
      backups,
      showDrift: createShowDrift(registry, parts.checkEveryMs),
    }),
  ];
}
