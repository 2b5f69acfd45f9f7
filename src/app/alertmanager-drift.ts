/** Wires the drift check of alert managers, which compares them with the routes. */
import type { Registry } from "prom-client";
import { type Environment, environments } from "#alerts/contract.ts";
import type { Config } from "#config.ts";
import { findManaged } from "#routing/alertmanager/commands.ts";
import { environmentsSharing } from "#routing/alertmanager/deliveries.ts";
import { type Drift, readDrifts, registerDrifts } from "#routing/alertmanager/drift.ts";
import { compare } from "#routing/alertmanager/keep.ts";
import type { RoutingRows } from "#routing/contract.ts";

/** undefined: the settings name no alert manager. One that environments share is checked once. */
export function watchAlertmanagers(
  config: Config,
  { registry, readRows }: { registry: Registry; readRows: () => Promise<RoutingRows> },
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

/** True if the settings name an alert manager. */
export function hasAlertmanager(config: Config): boolean {
  return environments.some((name) => isSet(config, name));
}

function isSet({ alertmanager }: Config, name: Environment): boolean {
  return alertmanager[name].config_file !== "" || alertmanager[name].url !== "";
}
