/** Definitions that are known from the start: Vedette's own rows, and those of a test. */
import { toMonitored } from "#definitions/rules/monitored.ts";
import { standardSet } from "#definitions/standard/standard.ts";
import type { ReadSecret } from "#kernel/secrets.ts";
import { monitorConfig } from "#monitor/config.ts";
import type { ApiCheck, CheckOf, Definitions, ReadDefinitions } from "#monitor/contract.ts";

const isHttp = (check: ApiCheck): check is CheckOf<"http"> => check.kind === "http";
const settings = { monitor: monitorConfig.monitor.parse(undefined) };

export const standardRows = standardSet(settings);
const monitored = toMonitored(standardRows);
/** All of them are checks of HTTP. */
export const standardDefinitions = { ...monitored, apiChecks: monitored.apiChecks.filter(isHttp) };
export const { sources, routes } = standardRows;

/** What does not change; rows that are not given: none. */
export function always(given: Partial<Definitions>): ReadDefinitions {
  const definitions = { apiChecks: [], heartbeats: [], channels: [], ...given };
  return async () => definitions;
}

/** Secrets by their values, and the list of hosts of each of them; an empty one is not set. */
export function secretsFrom(
  values: Readonly<Record<string, string | undefined>>,
  hosts?: string,
): ReadSecret {
  return (name) => {
    const value = values[name];
    return value ? { value, bindings: [{ name, hosts }] } : undefined;
  };
}
