/** Finds faults in definitions that the hosted monitor accepts silently, and that page the wrong people. */
import type { ApiCheck, Definitions, Heartbeat } from "#monitor/contract.ts";
import { secretNames } from "#monitor/contract.ts";
import { hostedLocations } from "./locations.ts";

/** Frequencies of the hosted monitor, seconds: 10S to 24H. */
export const hostedFrequencies: readonly number[] = [
  10, 20, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400,
];

/** The hosted monitor's own limits: response times of 30 s, periods of 30 s to 365 days. */
const maxThresholdMs = 30_000;
const minPeriodSeconds = 30;
const maxPeriodSeconds = 365 * 86_400;
const maxFailedRuns = 5;

/** One line per fault, each beginning with the id of the row; empty: all is well. */
export function lintDefinitions(definitions: Definitions): string[] {
  const { apiChecks, heartbeats, channels } = definitions;
  const all = [...apiChecks, ...heartbeats];
  return [
    ...findDuplicates(all.map(({ id }) => id)).map((id) => `${id}: the id is taken twice`),
    ...all.flatMap((row) => under(row.id, lintCommon(row, definitions))),
    ...apiChecks.flatMap((check) => under(check.id, lintApiCheck(check))),
    ...heartbeats.flatMap((heartbeat) => under(heartbeat.id, lintHeartbeat(heartbeat))),
    ...findDuplicates(channels.map(({ id }) => String(id))).map(
      (id) => `channel ${id}: the number is taken twice`,
    ),
  ];
}

function under(id: string, faults: (string | false)[]): string[] {
  return faults.filter((fault) => fault !== false).map((fault) => `${id || "(no id)"}: ${fault}`);
}

function findDuplicates(values: readonly string[]): string[] {
  return [...new Set(values.filter((value, i) => values.indexOf(value) !== i))];
}

function lintCommon(row: ApiCheck | Heartbeat, { channels }: Definitions): (string | false)[] {
  const { id, name, environment, channel } = row;
  return [
    !/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(id) && "the id has to be letters, digits and single hyphens",
    name.trim() === "" && "the name is empty",
    channel !== null &&
      channel !== environment &&
      `a ${environment} check must not use the ${channel} channel`,
    channel !== null &&
      !channels.some((known) => known.name === channel) &&
      `there is no ${channel} channel`,
  ];
}

function lintApiCheck(check: ApiCheck): (string | false)[] {
  const { locations, frequencySeconds, degradedAboveMs, failedAboveMs, failedRunThreshold } = check;
  const unknown = locations.filter((location) => !hostedLocations.includes(location));
  return [
    unknown.length > 0 && `unknown locations ${unknown.join(", ")}`,
    locations.length === 0 && "it has no locations",
    ...findDuplicates(locations).map((location) => `${location} is named twice`),
    !hostedFrequencies.includes(frequencySeconds) &&
      `the hosted monitor has no frequency of ${frequencySeconds} s`,
    degradedAboveMs > failedAboveMs && "degraded is above failed",
    (degradedAboveMs <= 0 || failedAboveMs <= 0) && "thresholds have to be above 0",
    failedAboveMs > maxThresholdMs && `failed is above ${maxThresholdMs} ms`,
    failedAboveMs >= frequencySeconds * 1_000 && "a run may take longer than its period",
    (failedRunThreshold < 1 || failedRunThreshold > maxFailedRuns) &&
      `failed runs have to be 1 to ${maxFailedRuns}`,
    ...lintRequest(check),
  ];
}

function lintRequest({ path, method, headers, body, assertions }: ApiCheck): (string | false)[] {
  const isPath = path.startsWith("/") && URL.canParse(`https://host.example${path}`);
  const named = [...JSON.stringify([path, headers, body]).matchAll(/\{\{(\w*)\}\}/g)];
  const statuses = assertions.filter(({ source }) => source === "status");
  const unknown = named.map(([, name]) => name ?? "").filter((name) => !isSecretName(name));
  return [
    (!isPath || /[\s{}]/.test(path)) && `${JSON.stringify(path)} is not the path of a URL`,
    method === "GET" && body !== null && "a GET has no body",
    assertions.length === 0 && "it asserts nothing",
    statuses.length > 1 && "it asserts more than one status",
    unknown.length > 0 && `unknown secrets ${unknown.join(", ")}`,
  ];
}

function isSecretName(name: string): boolean {
  return (secretNames as readonly string[]).includes(name);
}

function lintHeartbeat({ periodSeconds, graceSeconds, watches }: Heartbeat): (string | false)[] {
  return [
    watches.trim() === "" && "it does not say what it watches",
    (periodSeconds < minPeriodSeconds || periodSeconds > maxPeriodSeconds) &&
      "the period has to be 30 s to 365 days",
    (graceSeconds < 0 || graceSeconds > maxPeriodSeconds) && "the grace has to be 0 to 365 days",
  ];
}
