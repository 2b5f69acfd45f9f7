/** All settings: joins those of the slices, and reads them once from a TOML file and the environment. */
import { existsSync } from "node:fs";
import { z } from "zod";
import { alertEventsConfig } from "#alerts/config.ts";
import { apiConfig } from "#api/config.ts";
import { ciConfig } from "#ci/config.ts";
import { controlConfig } from "#control/config.ts";
import { cronConfig } from "#cron/config.ts";
import { definitionsConfig } from "#definitions/config.ts";
import { embeddedConfig } from "#embedded/config.ts";
import { fleetConfig, fleetFields, hasAddress } from "#fleet/config.ts";
import { defaultFleet, FleetName } from "#fleet/contract.ts";
import { readToml } from "#kernel/documents.ts";
import { faultLines } from "#kernel/faults.ts";
import { readSecretVariable } from "#kernel/files.ts";
import { overrides, secretPaths, secretUrl, wholeNumber } from "#kernel/setting.ts";
import { metricsConfig } from "#metrics/config.ts";
import { monitorConfig } from "#monitor/config.ts";
import { registryConfig } from "#registry/config.ts";
import { rolloutConfig } from "#rollout/config.ts";
import { alertmanagerConfig } from "#routing/alertmanager/config.ts";
import { incidentConfig } from "#routing/config.ts";
import { workerConfig } from "#worker/config.ts";

/** A fleet besides the default one, of the settings `[fleets]`. Settings that it leaves out are as for all. */
const FleetTable = z
  .strictObject({
    ...fleetFields,
    // Without a default: a variable that is left over, or misspelt, must not make a fleet of local processes.
    driver: fleetFields.driver.removeDefault(),
    /** Besides this table's own settings, those of `[rollout]` and `[registry]` that differ here. */
    rollout: overrides(rolloutConfig.rollout),
    registry: overrides(registryConfig.registry),
    slack: z
      .strictObject({
        /** Receives this fleet's rollout messages; the URL is a secret. Empty: where the others' go. */
        sentinel_rollout_webhook_url: secretUrl(),
      })
      .prefault({}),
  })
  .refine(hasAddress, { error: 'driver "http" needs http.url' });

export const Config = z.strictObject({
  data_dir: z
    .string()
    .regex(/\S/, { error: "must name a directory" })
    .default(".vedette")
    .describe("The directory of all data"),
  deployment: z
    .enum(["single", "distributed"])
    .default("single")
    .describe("`distributed`: refuse a start without what processes have to share"),
  shutdown_delay_seconds: wholeNumber({ min: 0, max: 3_600, default: 0 }).describe(
    "How long a process announces its shutdown before it stops accepting",
  ),
  log: z
    .strictObject({
      level: z
        .enum(["trace", "debug", "info", "warn", "error", "silent"])
        .default("info")
        .describe("The lowest level that is written"),
      format: z
        .enum(["auto", "json", "pretty"])
        .default("auto")
        .describe("`auto`: `pretty` on a terminal, else `json`"),
    })
    .prefault({}),
  ...alertEventsConfig,
  ...alertmanagerConfig,
  ...apiConfig,
  ...ciConfig,
  ...controlConfig,
  ...cronConfig,
  ...embeddedConfig,
  ...definitionsConfig,
  ...fleetConfig,
  fleets: z
    .record(FleetName, FleetTable)
    .refine((fleets) => !(defaultFleet in fleets), {
      error: `"${defaultFleet}" is the default fleet: its settings are [fleet]`,
    })
    .default({})
    .describe(
      "Further fleets by name: keys of `fleet`, and of `rollout`, `registry` and `slack` that differ",
    ),
  ...incidentConfig,
  ...monitorConfig,
  ...metricsConfig,
  ...registryConfig,
  ...rolloutConfig,
  ...workerConfig,
});
export type Config = z.infer<typeof Config>;

/** Short names of some settings that other programs use too. */
export const environmentAliases: Record<string, readonly string[]> = {
  VEDETTE_ROOT_KEY: ["api", "root_key"],
  INGRESS_TOKEN: ["control", "ingress_token"],
  DATABASE_URL: ["database", "url"],
  DATABASE_DIRECT_URL: ["database", "direct_url"],
  CLICKHOUSE_URL: ["clickhouse", "url"],
  REDIS_URL: ["redis", "url"],
};

/** Settings that could not be read. `message` has one line per fault, and of values only numbers, times, flags and choices. */
export class ConfigError extends Error {}

type ConfigSource = { file?: string | undefined; environment: NodeJS.ProcessEnv };

/** Reads the settings; the environment overrides the file. Throws one `ConfigError` with all faults. */
export function readConfig(source: ConfigSource): Config {
  // An empty variable, as compose files set it, counts as absent.
  const file = source.file ?? (source.environment["VEDETTE_CONFIG"] || undefined);
  const path = file ?? "vedette.toml";
  if (file !== undefined && !existsSync(file)) {
    throw new ConfigError(`config file ${file} does not exist`);
  }
  const fromFile = existsSync(path) ? readFile(path) : {};
  const environment = withSecretFiles(source.environment);
  const result = Config.safeParse(overlayEnvironment(fromFile, environment));
  if (!result.success) throw new ConfigError(faultLines(result.error, "settings").join("\n"));
  return result.data;
}

function readFile(path: string): Record<string, unknown> {
  try {
    return readToml(path);
  } catch (error) {
    throw new ConfigError(`config file ${(error as Error).message}`, { cause: error });
  }
}

/** Each secret whose file is named takes its place in the environment. */
function withSecretFiles(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const read = { ...environment };
  const faults: string[] = [];
  for (const fileName of Object.keys(environment)) {
    const name = fileName.replace(/_FILE$/, "");
    if (name === fileName || !isSecret(name)) continue;
    delete read[fileName];
    if (!environment[fileName]) continue;
    try {
      refuseOther(environment, fileName);
      read[name] = readSecretVariable(environment, name);
    } catch (error) {
      faults.push((error as Error).message);
    }
  }
  if (faults.length > 0) throw new ConfigError(faults.join("\n"));
  return read;
}

/** A setting with two names may have been given by the other one. */
function refuseOther(environment: NodeJS.ProcessEnv, fileName: string): void {
  const settingOf = (name: string) => settingPath(name.replace(/_FILE$/, ""))?.join(".");
  const other = Object.keys(environment).find(
    (name) => name !== fileName && environment[name] && settingOf(name) === settingOf(fileName),
  );
  if (other !== undefined) throw new Error(`${other} and ${fileName} are both set: unset one`);
}

/** The dotted paths of the settings that are secrets. */
export const secretSettings: readonly string[] = secretPaths(Config);

const secretWords = secretSettings.map((path) => path.split("."));

function isSecret(name: string): boolean {
  return isSecretPath(settingPath(name) ?? []);
}

export function isSecretPath(path: readonly string[]): boolean {
  const isAt = (words: readonly string[]) =>
    words.length === path.length && words.every((word, i) => word === "<name>" || word === path[i]);
  return secretWords.some(isAt);
}

function overlayEnvironment(
  settings: Record<string, unknown>,
  environment: NodeJS.ProcessEnv,
): Record<string, unknown> {
  const merged = structuredClone(settings);
  // A whole before its parts, whatever order the environment has.
  for (const [name, value] of Object.entries(environment).sort(byName)) {
    const path = settingPath(name);
    if (path !== undefined && value !== undefined) assign(merged, path, value);
  }
  return merged;
}

function byName([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : 1;
}

/** The settings outside of any table. */
const singleWords = new Set(["data_dir", "deployment", "shutdown_delay_seconds"]);

function settingPath(name: string): readonly string[] | undefined {
  if (name in environmentAliases) return environmentAliases[name];
  const words = /^VEDETTE_(.+)$/.exec(name)?.[1]?.toLowerCase().split("__");
  if (words === undefined) return undefined;
  // Other single words, such as VEDETTE_CONFIG, are not settings.
  return words.length > 1 || singleWords.has(words[0] ?? "") ? words : undefined;
}

function assign(target: Record<string, unknown>, path: readonly string[], value: string): void {
  const [head = "", ...rest] = path;
  if (rest.length === 0) {
    target[head] = value;
    return;
  }
  const child = target[head];
  const table = typeof child === "object" && child !== null ? child : {};
  target[head] = table;
  assign(table as Record<string, unknown>, rest, value);
}
