import { createSourceOf } from "#alerts/source.ts";
import type { Config } from "#config.ts";
import type { DefinitionSet } from "#definitions/rows/contract.ts";
import type { Finding } from "#definitions/rules/lint.ts";
import { toMonitored } from "#definitions/rules/monitored.ts";
import { whatItNeeds } from "#definitions/rules/warnings.ts";
import { createReadSecret, findPlaceholders, type ReadSecret } from "#kernel/secrets.ts";
import { missingSettings, type WhyOff } from "#monitor/probe/secrets.ts";
import type { WhyNobody } from "#monitor/results/list.ts";
import type { Base } from "./base.ts";

type Settings = Pick<Base, "config"> & { credentials: Pick<Base["credentials"], "check_key"> };

/** Reads a check's secret. For our own API, a root key that only verifies and limits is known. */
export function monitorSecrets({ config, credentials }: Settings): ReadSecret {
  const { base_url, key: KEY, root_key } = config.monitor;
  const ROOT_KEY = root_key || (base_url === "" ? credentials.check_key : "");
  return createReadSecret({ KEY, ROOT_KEY }, config.definitions.secrets_dir);
}

export function createWhyOff(settings: Settings): WhyOff {
  const readSecret = monitorSecrets(settings);
  return (check) => missingSettings(check, readSecret);
}

export function findOff(set: DefinitionSet, config: Config): Finding[] {
  const whyOff = createWhyOff({ config, credentials: { check_key: "of the first start" } });
  return toMonitored(set).apiChecks.flatMap((check) => {
    const missing = whyOff(check).join(" and ");
    if (missing === "") return [];
    return [{ section: "checks", key: check.id, message: `off: set ${missing}` }];
  });
}

export function findSilent({ channels }: DefinitionSet, config: Config): Finding[] {
  const readSecret = createReadSecret({}, config.definitions.secrets_dir);
  const hasSecret = (name: string) => readSecret(name) !== undefined;
  return channels.flatMap((row) => {
    const [unset] = whatItNeeds(row, { hasSecret, hasSource: () => true });
    if (unset === undefined) return [];
    return [{ section: "channels", key: row.id, message: `sends nothing: set ${unset}` }];
  });
}

/** A check reaches nobody while none of its channels has what it needs. */
export function createWhyNobody(config: Config): WhyNobody {
  const sourceOf = createSourceOf(config.incident.url, config.alerts);
  const readSecret = createReadSecret({}, config.definitions.secrets_dir);
  const isUnset = ({ name }: { name: string }) => readSecret(name) === undefined;
  return ({ channel, directChannels = [] }) => {
    if (channel !== null && sourceOf(channel) !== undefined) return undefined;
    const unset = directChannels.map((row) => findPlaceholders(row).find(isUnset)?.name);
    if (unset.includes(undefined)) return undefined;
    if (unset.length > 0) return `VEDETTE_SECRET_${unset[0]} is not set`;
    if (channel === null) return "it has no channel";
    if (config.incident.url === "") return "incident.url is not set";
    return `alerts.${channel}.source_id and its token are not set`;
  };
}
