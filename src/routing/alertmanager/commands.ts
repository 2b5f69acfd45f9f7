/** The commands about the metrics alert manager: token rotation, export, comparison, sync. */
import { type Environment, environments } from "#alerts/contract.ts";
import type { AlertmanagerSettings } from "#routing/alertmanager/config.ts";
import {
  environmentsInUse,
  environmentsSharing,
  findDeliveries,
} from "#routing/alertmanager/deliveries.ts";
import { exportAlertmanager, writeAlertmanagerYaml } from "#routing/alertmanager/export.ts";
import {
  bringInStep,
  type Comparison,
  compare,
  describeChange,
  describeComparison,
  type ManagedAlertmanager,
  type SyncResult,
} from "#routing/alertmanager/keep.ts";
import { findQuoted, takesQuotes } from "#routing/alertmanager/matchers.ts";
import type { RoutingRows } from "#routing/contract.ts";
import { type Rotation, rotate, type Webhook } from "#routing/tokens/rotate.ts";
import { createSourceTokens, type SourceAddress } from "#routing/tokens/source-tokens.ts";
import { askVersion, connectRunning, createReload } from "./running.ts";

type Settings = {
  alertmanager: Record<Environment, AlertmanagerSettings>;
  alerts: Record<Environment, AlertSourceSettings>;
  incident: { url: string; api_key: string };
};

/** The source to which alert events are posted. */
type AlertSourceSettings = {
  source_kind: SourceAddress["kind"];
  source_id: string;
  token_file: string;
};

type Sender = Webhook & { address: SourceAddress };

export type RotationReport = Rotation & {
  /** Ids of the sources at the incident service, by name. */
  ids: Map<string, string>;
  /** Senders without a token file, one line each. */
  leftOut: string[];
};

/** Throws with the settings that are missing, or with what failed and which tokens are in place now. */
export async function rotateTokens(
  settings: Settings & Pick<RoutingRows, "sources">,
  environment: Environment,
): Promise<RotationReport> {
  const { senders, leftOut } = findSenders(settings, environment);
  const addresses = new Map(senders.map(({ source, address }) => [source, address]));
  const addressOf = ({ source }: Webhook) => addresses.get(source) as SourceAddress;
  const tokens = createSourceTokens(incidentOf(settings));
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
    reload: createReload(settings.alertmanager[environment]),
  });
  return { ...rotation, ids, leftOut };
}

function incidentOf({ incident }: Settings): { url: string; apiKey: string } {
  const missing = (["url", "api_key"] as const).filter((key) => incident[key] === "");
  if (missing.length === 0) return { url: incident.url, apiKey: incident.api_key };
  throw new Error(`set ${missing.map((key) => `incident.${key}`).join(" and ")} first`);
}

/** The senders of an environment that read their token from a file. */
function findSenders(
  { alertmanager, alerts, sources }: Settings & Pick<RoutingRows, "sources">,
  environment: Environment,
) {
  const manager = alertmanager[environment];
  const monitor = alerts[environment];
  const { source_kind: kind } = monitor;
  const rows = [
    { of: "alertmanager", kind: "alertmanager", table: "alertmanager", settings: manager },
    { of: "checkly", kind, table: "alerts", settings: monitor },
  ] as const;
  const senders: Sender[] = [];
  const leftOut: string[] = [];
  for (const { of, kind, table, settings } of rows) {
    const row = sources.find((one) => one.kind === of && one.environment === environment);
    if (row === undefined) continue;
    const { source_id: id, token_file: file } = settings;
    if (file === "") leftOut.push(`${row.name}: ${table}.${environment}.token_file is not set`);
    else senders.push({ source: row.name, file, address: { kind, id, title: row.title } });
  }
  if (senders.length > 0) return { senders, leftOut };
  throw new Error(`there is no file to put a token into\n${leftOut.join("\n")}`);
}

/** For one environment, or all that share one. Throws with missing settings. No version: that at its url. */
export async function exportForAlertmanager(
  settings: Settings & RoutingRows,
  target: { environment?: Environment; alertmanagerVersion?: string },
) {
  const { environment, alertmanagerVersion } = target;
  const used = () => environmentsInUse(settings.alertmanager, environments);
  const wanted = environment === undefined ? used() : [environment];
  const { deliveries, routes, left_out } = await fitVersion(settings, wanted, alertmanagerVersion);
  return { files: exportAlertmanager(deliveries, routes), left_out };
}

type ManagedSettings = Pick<Settings, "alertmanager" | "incident"> & RoutingRows;

/** Leaves out the routes that the version cannot have, one line each. An unknown version is a new one. */
async function fitVersion(
  { alertmanager, incident, sources, routes }: ManagedSettings,
  wanted: readonly Environment[],
  given?: string,
) {
  const deliveries = findDeliveries(wanted, sources, { incidentUrl: incident.url, alertmanager });
  const names = deliveries.map(({ source }) => source.name);
  const labels = new Map(routes.map((route) => [route, findQuoted(route, names)]));
  const quoted = routes.filter((route) => labels.get(route) !== undefined);
  const url = wanted.map((one) => alertmanager[one].url).find((one) => one !== "") ?? "";
  // Asked only when it matters.
  const version = given ?? (quoted.length > 0 && url !== "" ? await askVersion(url) : undefined);
  if (version === undefined || takesQuotes(version)) return { deliveries, routes, left_out: [] };
  const left_out = quoted.map(
    (route) =>
      `${route.name}: left out, as Alertmanager ${version} takes no label ${labels.get(route)}; 0.27 and newer do`,
  );
  return { deliveries, routes: routes.filter((route) => !quoted.includes(route)), left_out };
}

/** `lines`: all of it, for people. */
type ComparisonReport = { left_out: string[]; lines: string[] };

/** Changes nothing. */
export async function compareAlertmanager(
  settings: Settings & RoutingRows,
  environment: Environment,
): Promise<Comparison & ComparisonReport> {
  const { left_out, ...managed } = await findManaged(settings, environment);
  const comparison = await compare(managed);
  return { ...comparison, left_out, lines: [...left_out, ...describeComparison(comparison)] };
}

export async function bringAlertmanagerInStep(
  settings: Settings & RoutingRows,
  environment: Environment,
): Promise<SyncResult & ComparisonReport> {
  const manager = settings.alertmanager[environment];
  const { left_out, ...managed } = await findManaged(settings, environment);
  const reload = createReload(manager);
  const result = await bringInStep({
    ...managed,
    reload: () => reload([]),
    withinMs: manager.reload_timeout_seconds * 1_000,
  });
  return { ...result, left_out, lines: [...left_out, ...result.changes.map(describeChange)] };
}

/** The alert manager of an environment, configured for the other one too when they share it. */
export async function findManaged(
  settings: ManagedSettings,
  environment: Environment,
): Promise<ManagedAlertmanager & Pick<ComparisonReport, "left_out">> {
  const { config_file: file, url } = settings.alertmanager[environment];
  if (file === "" && url === "") {
    const path = `alertmanager.${environment}`;
    throw new Error(`set ${path}.config_file or ${path}.url: where is its configuration?`);
  }
  const sharing = environmentsSharing(environment, settings.alertmanager, environments);
  const { deliveries, routes, left_out } = await fitVersion(settings, sharing);
  return {
    wanted: writeAlertmanagerYaml(deliveries, routes),
    file,
    running: url === "" ? undefined : connectRunning(url),
    left_out,
  };
}
