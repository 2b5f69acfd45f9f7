import type { Config } from "#config.ts";
import type { Finding } from "#definitions/rules/lint.ts";
import type { FleetConfig } from "#fleet/config.ts";
import { defaultFleet } from "#fleet/contract.ts";
import { noSuch } from "#kernel/text.ts";
import type { RegistryConfig } from "#registry/config.ts";
import type { FindCredential } from "#registry/credentials.ts";
import type { RolloutConfig } from "#rollout/config.ts";

export type Fleet = {
  name: string;
  fleet: FleetConfig;
  rollout: RolloutConfig;
  registry: RegistryConfig;
  /** Receives its rollout messages; empty: there are none. */
  webhookUrl: string;
  /** People who may change its rollouts; undefined: all whose roles allow it. */
  operators?: readonly string[] | undefined;
};

export type FleetWithLogins = Fleet & { findCredential: FindCredential };

type Settings = Pick<Config, "fleet" | "fleets" | "rollout" | "registry" | "slack">;

/** The default fleet first, then the others in the order of the settings. */
export function fleetsOf({ fleet, fleets, rollout, registry, slack }: Settings): Fleet[] {
  const { sentinel_rollout_webhook_url: webhookUrl } = slack;
  const named = Object.entries(fleets).map(([name, own]) => ({
    name,
    fleet: own,
    rollout: {
      ...withOverrides(rollout, own.rollout),
      ...ownPrometheus(rollout, own.rollout),
      max_failed: withOverrides(rollout.max_failed, own.rollout.max_failed ?? {}),
    },
    registry: withOverrides(registry, own.registry),
    webhookUrl: own.slack.sentinel_rollout_webhook_url || webhookUrl,
    operators: own.operators,
  }));
  const { operators } = fleet;
  return [{ name: defaultFleet, fleet, rollout, registry, webhookUrl, operators }, ...named];
}

type Prometheus = Pick<RolloutConfig, "prometheus_url" | "prometheus_token">;

/** The token of all is not for a Prometheus of the fleet's own. An empty address is that of all. */
function ownPrometheus(all: Prometheus, own: Partial<Prometheus>): Prometheus {
  const url = own.prometheus_url || all.prometheus_url;
  const token = url === all.prometheus_url ? all.prometheus_token : "";
  return { prometheus_url: url, prometheus_token: own.prometheus_token || token };
}

/** The Prometheus of a fleet; undefined: it has none. */
export function prometheusOf({ prometheus_url: url, prometheus_token: token }: Prometheus) {
  return url === "" ? undefined : { url, token };
}

function withOverrides<Table extends object>(table: Table, own: Partial<Table>): Table {
  const given = Object.entries(own).filter(([, value]) => value !== undefined);
  return { ...table, ...Object.fromEntries(given) };
}

export function hasProcessFleet({ fleet, fleets }: Drivers): boolean {
  return [fleet, ...Object.values(fleets)].some(({ driver }) => driver === "process");
}

type Drivers = {
  fleet: Pick<FleetConfig, "driver">;
  fleets: Record<string, Pick<FleetConfig, "driver">>;
};

/** The name of a fleet's setting, as a message calls it. */
export function settingOf(fleet: string, path: string): string {
  return fleet === defaultFleet ? path : `fleets.${fleet}.${path.replace(/^fleet\./, "")}`;
}

/** The channels that `rollout.channels` and `audit.channel` name although they are no rows: what is for them goes nowhere. */
export function findUnknownChannels(config: Config, rows: readonly { id: string }[]): Finding[] {
  const ofRollouts = fleetsOf(config).flatMap(({ name, rollout }) =>
    rollout.channels.map(({ channel }) => [settingOf(name, "rollout.channels"), channel] as const),
  );
  return [...ofRollouts, ["audit.channel", config.audit.channel] as const]
    .filter(([, channel]) => channel !== "" && !rows.some(({ id }) => id === channel))
    .map(([setting, channel]) => {
      const message = `setting ${setting}: ${noSuch("channel", channel, rows)}`;
      return { section: "channels", key: channel, message };
    });
}
