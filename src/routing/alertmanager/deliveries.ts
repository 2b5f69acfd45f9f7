/** Finds, in rows and settings, the sources to which an alert manager sends, and how. */
import type { Environment } from "#alerts/contract.ts";
import type { AlertmanagerSettings } from "#routing/alertmanager/config.ts";
import type { AlertSource } from "#routing/contract.ts";
import type { Delivery } from "./tree.ts";

export type DeliverySettings = {
  incidentUrl: string;
  alertmanager: Record<Environment, AlertmanagerSettings>;
};

/** Throws with every setting that is missing. */
export function findDeliveries(
  environments: readonly Environment[],
  sources: readonly AlertSource[],
  { incidentUrl, alertmanager }: DeliverySettings,
): [Delivery, ...Delivery[]] {
  const missing = incidentUrl === "" ? ["incident.url"] : [];
  const deliveries = environments.flatMap((environment): Delivery[] => {
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
  const [first, ...others] = deliveries;
  if (first !== undefined) return [first, ...others];
  throw new Error("no row of sources is of the kind alertmanager");
}

/** The environments with a `source_id`; all when there is none, so that errors name what is missing. */
export function environmentsInUse(
  alertmanager: DeliverySettings["alertmanager"],
  all: readonly Environment[],
): readonly Environment[] {
  const used = all.filter((environment) => alertmanager[environment].source_id !== "");
  return used.length > 0 ? used : all;
}

/** The environments whose alert manager has the same configuration as this one's, itself included. */
export function environmentsSharing(
  environment: Environment,
  alertmanager: DeliverySettings["alertmanager"],
  all: readonly Environment[],
): readonly Environment[] {
  const keyOf = ({ config_file, url }: AlertmanagerSettings) => config_file || url;
  const key = keyOf(alertmanager[environment]);
  return all.filter(
    (other) => other === environment || (key !== "" && keyOf(alertmanager[other]) === key),
  );
}
