/** The commands that write the definitions for other programs; they need no server. */
import { catchMisdirected, MisdirectedSecret, withUnset } from "#kernel/secrets.ts";
import type { Definitions } from "#monitor/contract.ts";
import { exportCheckly, findLeftOut, findUnhosted } from "#monitor/export/checkly.ts";
import type { ExportedFile } from "#monitor/export/file.ts";
import { exportPrometheus, labelsOfRule } from "#monitor/export/prometheus.ts";
import { kindOf } from "#monitor/kinds/contract.ts";

type Settings = {
  monitor: { base_url: string; secret_prefix: string };
  metrics: { host: string; port: number };
};

type Exported = { settings: Settings; definitions: Definitions };

/** The hosted monitor's project. Throws what cannot be there. `named`: the API, if the settings don't say. */
export function exportForCheckly(
  { settings, definitions }: Exported,
  named: string | undefined,
): ExportedFile[] {
  const faults = findUnhosted(definitions);
  if (faults.length > 0) throw new Error(faults.join("\n"));
  const baseUrl = named ?? settings.monitor.base_url;
  if (baseUrl === "") {
    throw new Error("where is the API? Name it with --base-url, or set monitor.base_url");
  }
  if (/^(?:localhost|127\..*|\[::1?\]|0\.0\.0\.0)$/.test(new URL(baseUrl).hostname)) {
    throw new Error(`${baseUrl} is this machine; the hosted monitor needs a public --base-url`);
  }
  // The reach of all other checks is known to the hosted monitor alone.
  const target = { baseUrl, readSecret: withUnset(() => undefined) };
  for (const check of definitions.apiChecks) {
    const { hosted, build } = kindOf(check);
    const found = hosted && catchMisdirected(() => build(check, target));
    if (found instanceof MisdirectedSecret) throw new Error(`${check.id}: ${found.message}`);
  }
  return exportCheckly(definitions, { baseUrl, secretPrefix: settings.monitor.secret_prefix });
}

/** One line for each check that the export to the hosted monitor leaves out. */
export const leftOutOfCheckly = findLeftOut;

/** Alert rules and a scrape for Prometheus. */
export function exportForPrometheus({ settings, definitions }: Exported): ExportedFile[] {
  const { host, port } = settings.metrics;
  const metricsAddress = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  return exportPrometheus(definitions, { metricsAddress });
}

/** Checks and heartbeats with the labels that their alerts have by the rules for Prometheus. */
export function withRuleLabels({ apiChecks, heartbeats }: Omit<Definitions, "channels">) {
  return [
    ...apiChecks.map((row) => ({ ...row, ruleLabels: labelsOfRule(row, "api") })),
    ...heartbeats.map((row) => ({ ...row, ruleLabels: labelsOfRule(row, "heartbeat") })),
  ];
}
