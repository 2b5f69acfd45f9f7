/** What commands about the definitions of checks work with: no server, only the settings. */
import { defineMonitor } from "#monitor/definitions.ts";
import { exportCheckly } from "#monitor/export/checkly.ts";
import type { ExportedFile } from "#monitor/export/file.ts";
import { lintDefinitions } from "#monitor/lint.ts";
import { readConfig } from "./config.ts";

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

/** The project for the hosted monitor. Throws one clear line when the definitions have faults. */
export function exportForCheckly(source: ExportSource): ExportedFile[] {
  const { definitions, settings } = readSound(source.config);
  const baseUrl = source.baseUrl ?? settings.base_url;
  if (baseUrl === "") {
    throw new Error("where is the API? Name it with --base-url, or set monitor.base_url");
  }
  if (/^(?:localhost|127\..*|\[::1?\]|0\.0\.0\.0)$/.test(new URL(baseUrl).hostname)) {
    throw new Error(`${baseUrl} is this machine; the hosted monitor needs a public --base-url`);
  }
  return exportCheckly(definitions, { baseUrl, secretPrefix: settings.secret_prefix });
}

export type ExportSource = { config?: string | undefined; baseUrl?: string | undefined };

function readSound(configFile: string | undefined) {
  const read = readDefinitions(configFile);
  const faults = lintDefinitions(read.definitions);
  if (faults.length === 0) return read;
  throw new Error(["the definitions have faults:", ...faults].join("\n"));
}

function readDefinitions(configFile: string | undefined) {
  const { monitor } = readConfig({ file: configFile, environment: process.env });
  return { settings: monitor, definitions: defineMonitor(monitor) };
}
