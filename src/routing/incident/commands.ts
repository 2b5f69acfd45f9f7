/** Plans of alert routes for the command line, which only read from the incident service. */
import type { RoutingRows } from "#routing/contract.ts";
import type { Backup, OwnedRoute, Plan } from "#routing/incident/contract.ts";
import { readIdsFile } from "#routing/incident/ids-file.ts";
import { type PlanOutcome, planBackup, planRows } from "#routing/incident/plan.ts";
import { createReader, type Reader } from "#routing/incident/service.ts";
import { plainSteps, retryLimits } from "#routing/incident/steps.ts";
import { readRoutes, readSurvey } from "#routing/incident/survey.ts";
import { createSend, readOnly } from "#routing/incident/transport.ts";

export type IncidentSettings = { url: string; api_key: string; ids_file: string };

const tools = { steps: plainSteps, retryLimits: retryLimits.terminal };

/** `owned`: by name, as Vedette has recorded them; empty: routes are found by name alone. */
export async function planAlertRoutes(
  settings: IncidentSettings,
  rows: RoutingRows,
  owned: Readonly<Record<string, OwnedRoute>>,
): Promise<PlanOutcome> {
  const { reader, head, idsFile } = openService(settings);
  const given = readIdsFile(idsFile);
  const known = Object.values(owned).map(({ id }) => id);
  const survey = await readSurvey(reader, tools, known);
  if (survey.kind === "failed") throw new Error(survey.reason);
  return planRows({ rows, given, survey: survey.value, owned }, head);
}

/** The changes that restoring a backup would make. */
export async function planAlertRestore(settings: IncidentSettings, backup: Backup): Promise<Plan> {
  const { reader, head } = openService(settings);
  if (backup.incident_url !== head.incident_url) {
    throw new Error(`the backup is of ${backup.incident_url}, not of ${head.incident_url}`);
  }
  const present = await readRoutes(reader, tools);
  if (present.kind === "failed") throw new Error(present.reason);
  return planBackup(backup, present.value, head);
}

type IncidentService = {
  reader: Reader;
  head: Pick<Plan, "incident_url" | "made_at">;
  idsFile: string;
};

function openService({
  url,
  api_key: apiKey,
  ids_file: idsFile,
}: IncidentSettings): IncidentService {
  if (url === "" || apiKey === "") {
    throw new Error(
      "set incident.url and incident.api_key (VEDETTE_INCIDENT__URL, VEDETTE_INCIDENT__API_KEY)",
    );
  }
  const head = { incident_url: url, made_at: new Date().toISOString() };
  return { reader: createReader(readOnly(createSend({ url, apiKey }))), head, idsFile };
}
