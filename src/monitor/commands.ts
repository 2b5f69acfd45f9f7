/** The commands that write the definitions for other programs; they need no server. */
import type { Definitions } from "#monitor/contract.ts";
import { exportCheckly } from "#monitor/export/checkly.ts";
import type { ExportedFile } from "#monitor/export/file.ts";
import { findLeftOut, findUnhosted } from "#monitor/export/hosted-limits.ts";
import { findUnprobed } from "#monitor/export/other-kinds.ts";
import { exportPrometheus } from "#monitor/export/prometheus.ts";

/** The settings that these commands read. */
type Settings = {
  monitor: { base_url: string; secret_prefix: string };
  metrics: { host: string; port: number };
};

export type ExportSource = {
  settings: Settings;
  definitions: Definitions;
  /** Where the API is, if the settings don't say it. */
  baseUrl: string | undefined;
};

/** The project for the hosted monitor. Throws a readable error for what it does not have. */
export function exportForCheckly(source: ExportSource): ExportedFile[] {
  const { settings, definitions } = source;
  const faults = findUnhosted(definitions);
  if (faults.length > 0) throw new Error(faults.join("\n"));
  const baseUrl = baseUrlOf(source);
  if (/^(?:localhost|127\..*|\[::1?\]|0\.0\.0\.0)$/.test(new URL(baseUrl).hostname)) {
    throw new Error(`${baseUrl} is this machine; the hosted monitor needs a public --base-url`);
  }
  return exportCheckly(definitions, { baseUrl, secretPrefix: settings.monitor.secret_prefix });
}

/** One line for each check that an export leaves out, in whole or in part. */
export const leftOut = { checkly: findLeftOut, prometheus: findUnprobed };

/** Rules, modules and scrapes for Prometheus. */
export function exportForPrometheus(source: ExportSource): ExportedFile[] {
  const { settings, definitions } = source;
  const { host, port } = settings.metrics;
  const metricsAddress = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const secretPrefix = settings.monitor.secret_prefix;
  return exportPrometheus(definitions, {
    baseUrl: baseUrlOf(source),
    secretPrefix,
    metricsAddress,
  });
}

function baseUrlOf({ settings, baseUrl }: ExportSource): string {
  const known = baseUrl ?? settings.monitor.base_url;
  if (known !== "") return known;
  throw new Error("where is the API? Name it with --base-url, or set monitor.base_url");
}
