/** Definitions that are known from the start: Vedette's own rows, and those of a test. */
import { toMonitored } from "#definitions/rules/monitored.ts";
import { standardSet } from "#definitions/standard/standard.ts";
import { monitorConfig } from "#monitor/config.ts";
import type { Definitions, ReadDefinitions } from "#monitor/contract.ts";
import { isHttp } from "#monitor/kinds/contract.ts";

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

/** The values of secrets. */
export function secretsFrom(values: Readonly<Record<string, string>>) {
  return (name: string): string | undefined => values[name];
}
