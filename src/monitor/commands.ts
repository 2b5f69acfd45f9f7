/** The commands about the definitions of checks, which need only the settings and no server. */
import { defineMonitor } from "#monitor/definitions/definitions.ts";
import { lintDefinitions } from "#monitor/definitions/lint.ts";
import { exportCheckly } from "#monitor/export/checkly.ts";
import type { ExportedFile } from "#monitor/export/file.ts";
import { exportPrometheus } from "#monitor/export/prometheus.ts";

/** The settings that these commands read. */
type Settings = {
  monitor: { base_url: string; secret_prefix: string; rate_limit_locations: readonly string[] };
  metrics: { host: string; port: number };
};

/** All API checks and heartbeats. */
export function listWatched({ monitor }: Pick<Settings, "monitor">) {
  const { apiChecks, heartbeats } = defineMonitor(monitor);
  return [...apiChecks, ...heartbeats];
}

/** The number of rows by kind, and one line per fault; no faults: all is well. */
export function lintChecks({ monitor }: Settings) {
  const definitions = defineMonitor(monitor);
  const { apiChecks, heartbeats, channels } = definitions;
  return {
    apiChecks: apiChecks.length,
    heartbeats: heartbeats.length,
    channels: channels.length,
    faults: lintDefinitions(definitions),
  };
}

/** The project for the hosted monitor. Throws a readable error for faulty definitions or settings. */
export function exportForCheckly(settings: Settings, givenBaseUrl?: string): ExportedFile[] {
  const { definitions, baseUrl } = readValid(settings, givenBaseUrl);
  if (/^(?:localhost|127\..*|\[::1?\]|0\.0\.0\.0)$/.test(new URL(baseUrl).hostname)) {
    throw new Error(`${baseUrl} is this machine; the hosted monitor needs a public --base-url`);
  }
  return exportCheckly(definitions, { baseUrl, secretPrefix: settings.monitor.secret_prefix });
}

/** Rules, modules and scrapes for Prometheus. Throws a readable error for faulty definitions. */
export function exportForPrometheus(settings: Settings, givenBaseUrl?: string): ExportedFile[] {
  const { definitions, baseUrl } = readValid(settings, givenBaseUrl);
  const { host, port } = settings.metrics;
  const metricsAddress = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const secretPrefix = settings.monitor.secret_prefix;
  return exportPrometheus(definitions, { baseUrl, secretPrefix, metricsAddress });
}

function readValid({ monitor }: Settings, givenBaseUrl: string | undefined) {
  const definitions = defineMonitor(monitor);
  const faults = lintDefinitions(definitions);
  if (faults.length > 0) throw new Error(["the definitions have faults:", ...faults].join("\n"));
  const baseUrl = givenBaseUrl ?? monitor.base_url;
  if (baseUrl !== "") return { definitions, baseUrl };
  throw new Error("where is the API? Name it with --base-url, or set monitor.base_url");
}
