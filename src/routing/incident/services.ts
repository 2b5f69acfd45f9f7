/** Creates the Restate objects of the sync of alert routes. */
import type { Registry } from "prom-client";
import type { ReadActor } from "#kernel/actor.ts";
import type { Database } from "#kernel/database.ts";
import { patience, sendToRestate } from "#kernel/ingress.ts";
import { createBackupStore } from "./backups.ts";
import { alertRoutesKey, alertRoutesName } from "./contract.ts";
import { readIdsFile } from "./ids-file.ts";
import { alertRoutesRuns } from "./internal.ts";
import { createShowDrift } from "./metrics.ts";
import { createAlertRoutesObject } from "./object.ts";
import type { Rows } from "./resolve.ts";
import { createApplyService } from "./run.ts";
import { createSend } from "./transport.ts";

/** Called at a worker's start, as rows may be new. `ingressUrl`: Restate's own. Throws after half a minute. */
export async function startAlertRoutes(ingressUrl: string): Promise<void> {
  const path = `/${alertRoutesName}/${alertRoutesKey}/start`;
  await sendToRestate({ ingressUrl, path }, {}, patience.start);
}

/** The call that checks now, and answers with the drift report. */
export const driftCheck = {
  service: alertRoutesRuns.name,
  key: alertRoutesKey,
  handler: "check",
  request: {},
};

type AlertRoutesParts = {
  /** `url` without a slash at its end; if one of the two is empty nothing is applied or checked. */
  incident: { url: string; apiKey: string };
  idsFile: string;
  /** The interval of drift checks, which a timed job starts. */
  checkEveryMs: number;
  /** The time of the next drift check; undefined: there are none. */
  nextCheckAtMs: ((nowMs: number) => number) | undefined;
  listLagMs: number;
  readRows: () => Promise<Rows>;
  database: Database;
  registry: Registry;
  readActor: ReadActor;
};

export function createAlertRoutes(parts: AlertRoutesParts) {
  const { incident, idsFile, nextCheckAtMs, listLagMs, readRows, database, registry } = parts;
  const { readActor } = parts;
  const isConfigured = incident.url !== "" && incident.apiKey !== "";
  const incidentUrl = isConfigured ? incident.url : "";
  const backups = createBackupStore(database);
  return [
    createAlertRoutesObject({ incidentUrl, nextCheckAtMs, listLagMs, backups, readActor }),
    createApplyService({
      send: createSend(incident),
      incidentUrl,
      listLagMs,
      readRows,
      readGivenIds: () => readIdsFile(idsFile),
      backups,
      showDrift: createShowDrift(registry, parts.checkEveryMs),
    }),
  ];
}
