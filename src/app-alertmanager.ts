/** What commands about the metrics alert manager work with: its files, itself, the incident service. */
import { exportAlertmanager, writeAlertmanagerYaml } from "#alerting/alertmanager/export.ts";
import {
  type Brought,
  bringInStep,
  compare,
  type Kept,
  type Standing,
} from "#alerting/alertmanager/keep.ts";
import { createReload } from "#alerting/alertmanager/reload.ts";
import { connectRunning } from "#alerting/alertmanager/running.ts";
import {
  environmentsInUse,
  environmentsSharing,
  findSendings,
} from "#alerting/alertmanager/sendings.ts";
import { type Rotation, rotate, type Webhook } from "#alerting/rotate.ts";
import { routes, sources } from "#alerting/routes.ts";
import { type Environment, environments } from "#alerting/routes-contract.ts";
import { createSourceTokens, type SourceAddress } from "#alerting/source-tokens.ts";
import { type Config, readConfig } from "./config.ts";

export type RotationOrder = { environment: Environment; config?: string | undefined };

type Sender = Webhook & { address: SourceAddress };

/** Throws with what is missing in the settings, or with what went wrong and how things stand now. */
export async function rotateTokens({
  environment,
  config: file,
}: RotationOrder): Promise<Rotation & { ids: Map<string, string> }> {
  const config = readConfig({ file, environment: process.env });
  const senders = findSenders(config, environment);
  const addresses = new Map(senders.map(({ source, address }) => [source, address]));
  const addressOf = ({ source }: Webhook) => addresses.get(source) as SourceAddress;
  const tokens = createSourceTokens(incidentOf(config));
  const ids = new Map<string, string>();
  const webhooks = senders.map(({ source, file }): Webhook => ({ source, file }));
  const rotation = await rotate(webhooks, {
    async readToken(webhook) {
      const { id, token } = await tokens.read(addressOf(webhook));
      ids.set(webhook.source, id);
      return token;
    },
    sendTestEvent: (webhook, token) => {
      const { kind } = addressOf(webhook);
      return tokens.tryOut({ kind, id: ids.get(webhook.source) ?? "" }, token);
    },
    reload: createReload(config.alertmanager[environment]),
  });
  return { ...rotation, ids };
}

function incidentOf({ incident }: Config): { url: string; apiKey: string } {
  const missing = (["url", "api_key"] as const).filter((key) => incident[key] === "");
  if (missing.length === 0) return { url: incident.url, apiKey: incident.api_key };
  throw new Error(`set ${missing.map((key) => `incident.${key}`).join(" and ")} first`);
}

/** The senders of an environment that have their token from a file. */
function findSenders(config: Config, environment: Environment): Sender[] {
  const manager = config.alertmanager[environment];
  const monitor = config.alerts[environment];
  const of = (kind: "alertmanager" | "checkly") =>
    sources.find((row) => row.kind === kind && row.environment === environment);
  const rows = [
    { row: of("alertmanager"), kind: "alertmanager" as const, settings: manager },
    { row: of("checkly"), kind: monitor.source_kind, settings: monitor },
  ];
  const found = rows.flatMap(({ row, kind, settings: { source_id: id, token_file: file } }) =>
    row === undefined || file === ""
      ? []
      : [{ source: row.name, file, address: { kind, id, title: row.title } }],
  );
  if (found.length > 0) return found;
  throw new Error(
    `there is no file to put a token into: set alertmanager.${environment}.token_file or alerts.${environment}.token_file`,
  );
}

export type ExportOrder = { environment?: Environment; config?: string | undefined };

/** One environment's alert manager, or one that all of them share. Throws with missing settings. */
export function exportForAlertmanager({ environment, config: file }: ExportOrder) {
  const { alertmanager, incident } = readConfig({ file, environment: process.env });
  const wanted =
    environment === undefined ? environmentsInUse(alertmanager, environments) : [environment];
  const sendings = findSendings(wanted, sources, { incidentUrl: incident.url, alertmanager });
  return exportAlertmanager(sendings, routes);
}

export type KeepOrder = { environment: Environment; config?: string | undefined };

/** Changes nothing. */
export async function compareAlertmanager({
  environment,
  config: file,
}: KeepOrder): Promise<Standing> {
  return compare(findKept(readConfig({ file, environment: process.env }), environment));
}

export async function bringAlertmanagerInStep({
  environment,
  config: file,
}: KeepOrder): Promise<Brought> {
  const config = readConfig({ file, environment: process.env });
  const settings = config.alertmanager[environment];
  const reload = createReload(settings);
  return bringInStep({
    ...findKept(config, environment),
    reload: () => reload([]),
    withinMs: settings.reload_timeout_seconds * 1_000,
  });
}

/** Also the other environment's, when the two share an alert manager. */
function findKept({ alertmanager, incident }: Config, environment: Environment): Kept {
  const { config_file: file, url } = alertmanager[environment];
  if (file === "" && url === "") {
    const path = `alertmanager.${environment}`;
    throw new Error(`set ${path}.config_file or ${path}.url: where is its configuration?`);
  }
  const sharing = environmentsSharing(environment, alertmanager, environments);
  const sendings = findSendings(sharing, sources, { incidentUrl: incident.url, alertmanager });
  return {
    wanted: writeAlertmanagerYaml(sendings, routes),
    file,
    running: url === "" ? undefined : connectRunning(url),
  };
}
