/** Alert rules: on the metrics of Vedette itself, and on those of blackbox-exporter. */

import { type Environment, environments } from "#alerts/contract.ts";
import type { ApiCheck, Definitions, RunnableOf } from "#monitor/contract.ts";
import { hasChannels } from "#monitor/related.ts";
import type { Rule, Severity } from "./rule.ts";
import { byCheck, watchRules } from "./watch-rules.ts";

/** Only production pages, whichever source of the incident service receives the alert. */
export const severityOf: Record<Environment, Severity> = {
  production: "critical",
  staging: "warning",
};

/** Alerts that Vedette opens, and alerts about Vedette itself, which only another program can raise. */
export function monitorRules({ apiChecks, heartbeats }: Definitions): Rule[] {
  const alerting = [...apiChecks, ...heartbeats].filter(hasChannels);
  const failed = environments.flatMap((environment) => {
    const ids = alerting.filter((row) => row.environment === environment).map(({ id }) => id);
    return ids.length === 0 ? [] : [failedRule(environment, ids)];
  });
  return [...failed, ...watchRules];
}

function failedRule(environment: Environment, ids: readonly string[]): Rule {
  // The open alert and not the state, because it respects mute, maintenance and the threshold already.
  const series = `vedette_check_alert_open{check=~"${ids.join("|")}"}`;
  return {
    alert: "VedetteCheckFailed",
    expr: `max ${byCheck} (${series}) == 1`,
    labels: { severity: severityOf[environment] },
    annotations: { summary: "{{ $labels.check }} fails" },
  };
}

/**
 * Two rules for each API check that notifies somebody: its probe fails, or is missing. Each has the check as
 * a label, since `promtool check rules` treats rules with the same name and labels as duplicates.
 */
export function probeRules(checks: readonly ApiCheck[]): Rule[] {
  return checks.flatMap((check) => {
    const { id, environment, frequencySeconds, failedRunThreshold } = check;
    const waits = (failedRunThreshold - 1) * frequencySeconds;
    return [
      {
        alert: "VedetteProbeFailed",
        expr: `min by (check, environment) (${lastProbe(check)}) == 0`,
        ...(waits > 0 && { for: `${waits}s` }),
        labels: { severity: severityOf[environment], check: id },
        annotations: { summary: `${id} fails` },
      },
      {
        alert: "VedetteProbeAbsent",
        expr: `absent(${lastProbe(check)})`,
        for: `${absentSeconds(check)}s`,
        labels: { severity: "warning", check: id },
        annotations: { summary: absentSummary(id) },
      },
      ...(check.kind === "tls" ? [certificateRule(check)] : []),
    ];
  });
}

/** The exporter itself accepts a certificate until it is over. */
function certificateRule({ id, environment, failedBelowDays, ...check }: TlsCheck): Rule {
  const ends = lastProbe({ id, ...check }, "probe_ssl_earliest_cert_expiry");
  return {
    alert: "VedetteProbeCertificateEnds",
    expr: `min by (check, environment) (${ends}) - time() < ${failedBelowDays * 86_400}`,
    labels: { severity: severityOf[environment], check: id },
    annotations: { summary: certificateSummary(id, failedBelowDays) },
  };
}

type TlsCheck = Pick<
  RunnableOf<"tls">,
  "id" | "environment" | "frequencySeconds" | "failedBelowDays"
>;

export function certificateSummary(id: string, days: number): string {
  return `the certificate of ${id} ends in less than ${days} days`;
}

export function absentSummary(id: string): string {
  return `there are no probes of ${id}`;
}

/** How long probes must be missing before the alert. */
export function absentSeconds({ frequencySeconds }: ApiCheck): number {
  return Math.max(300, frequencySeconds);
}

/**
 * A value is stale for Prometheus after 5 minutes. Up to this scrape interval, one scrape may be lost before
 * that.
 */
const maxIntervalSeconds = 120;

/** For checks that run less often, queries the last value within two periods. */
function lastProbe(
  { id, frequencySeconds }: Pick<ApiCheck, "id" | "frequencySeconds">,
  metric = "probe_success",
): string {
  const series = `${metric}{check="${id}"}`;
  if (frequencySeconds <= maxIntervalSeconds) return series;
  return `last_over_time(${series}[${2 * frequencySeconds}s])`;
}
