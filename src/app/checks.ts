/** What commands about the definitions of checks work with: no server, only the settings. */
import { readConfig } from "#config.ts";
import { defineMonitor } from "#monitor/definitions/definitions.ts";
import { lintDefinitions } from "#monitor/definitions/lint.ts";
import { exportCheckly } from "#monitor/export/checkly.ts";
import type { ExportedFile } from "#monitor/export/file.ts";
import { exportPrometheus } from "#monitor/export/prometheus.ts";

/** One line per fault; empty: all is well. */
export function lintChecks(configFile: string | undefined) {
  const { definitions } = readDefinitions(configFile);
  const { apiChecks, heartbeats, channels } = definitions;
  return {
    apiChecks: apiChecks.length,
    heartbeats: heartbeats.length,
    channels: channels.length,
    faults: lintDefinitions(definitions),
  };
}

export type ExportSource = { config?: string | undefined; baseUrl?: string | undefined };

/** The project for the hosted monitor. Throws in clear lines when definitions or settings do not do. */
export function exportForCheckly(source: ExportSource): ExportedFile[] {
  const { definitions, settings, baseUrl } = readSound(source);
  if (/^(?:localhost|127\..*|\[::1?\]|0\.0\.0\.0)$/.test(new URL(baseUrl).hostname)) {
    throw new Error(`${baseUrl} is this machine; the hosted monitor needs a public --base-url`);
  }
  return exportCheckly(definitions, { baseUrl, secretPrefix: settings.monitor.secret_prefix });
}

/** Rules, modules and scrapes for Prometheus. Throws as the other export does. */
export function exportForPrometheus(source: ExportSource): ExportedFile[] {
  const { definitions, settings, baseUrl } = readSound(source);
  const { host, port } = settings.metrics;
  const metricsAddress = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const secretPrefix = settings.monitor.secret_prefix;
  return exportPrometheus(definitions, { baseUrl, secretPrefix, metricsAddress });
}

function readSound(source: ExportSource) {
  const { definitions, settings } = readDefinitions(source.config);
  const faults = lintDefinitions(definitions);
  if (faults.length > 0) throw new Error(["the definitions have faults:", ...faults].join("\n"));
  const baseUrl = source.baseUrl ?? settings.monitor.base_url;
  if (baseUrl !== "") return { definitions, settings, baseUrl };
  throw new Error("where is the API? Name it with --base-url, or set monitor.base_url");
}

function readDefinitions(configFile: string | undefined) {
  const settings = readConfig({ file: configFile, environment: process.env });
  return { settings, definitions: defineMonitor(settings.monitor) };
}
