/** Which sources an alert manager sends to, and how, by the settings. */

import type { Environment } from "#alerts/contract.ts";
import type { AlertmanagerSettings } from "#routing/alertmanager/config.ts";
import type { AlertSource } from "#routing/contract.ts";
import type { Delivery } from "./tree.ts";

export type SendingSettings = {
  incidentUrl: string;
  alertmanager: Record<Environment, AlertmanagerSettings>;
};

/** Throws with every setting that is missing. */
export function findSendings(
  environments: readonly Environment[],
  sources: readonly AlertSource[],
  { incidentUrl, alertmanager }: SendingSettings,
): [Delivery, ...Delivery[]] {
  const missing = incidentUrl === "" ? ["incident.url"] : [];
  const sendings = environments.flatMap((environment): Delivery[] => {
    const settings = alertmanager[environment];
    const path = `alertmanager.${environment}`;
    const credentialsFile = settings.mounted_token_file || settings.token_file;
    if (settings.source_id === "") missing.push(`${path}.source_id`);
    if (credentialsFile === "") missing.push(`${path}.token_file`);
    const source = sources.find(
      (row) => row.kind === "alertmanager" && row.environment === environment,
    );
    if (source === undefined) return [];
    const id = encodeURIComponent(settings.source_id);
    const url = `${incidentUrl}/v2/alert_events/alertmanager/${id}`;
    return [{ source: { ...source, environment }, url, credentialsFile }];
  });
  if (missing.length > 0) throw new Error(`set ${missing.join(" and ")} first`);
  const [first, ...others] = sendings;
  if (first !== undefined) return [first, ...others];
  throw new Error("no row of sources is of the kind alertmanager");
}

/** The environments that have a source; without any, all of them, so that what is missing is told. */
export function environmentsInUse(
  alertmanager: SendingSettings["alertmanager"],
  all: readonly Environment[],
): readonly Environment[] {
  const used = all.filter((environment) => alertmanager[environment].source_id !== "");
  return used.length > 0 ? used : all;
}

/** Those whose alert manager works with the same configuration as this one's, itself included. */
export function environmentsSharing(
  environment: Environment,
  alertmanager: SendingSettings["alertmanager"],
  all: readonly Environment[],
): readonly Environment[] {
  const keyOf = ({ config_file, url }: AlertmanagerSettings) => config_file || url;
  const key = keyOf(alertmanager[environment]);
  return all.filter(
    (other) => other === environment || (key !== "" && keyOf(alertmanager[other]) === key),
  );
}
