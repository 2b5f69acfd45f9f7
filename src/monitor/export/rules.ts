/** Alert rules: on the metrics of Vedette itself, and on those of blackbox-exporter. */
import type { ApiCheck, Definitions, Environment, Heartbeat } from "#monitor/contract.ts";

export type Rule = {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: Severity; check?: string };
  annotations: { summary: string };
};

type Severity = "critical" | "warning";

/** Only production pages, whichever source of the incident service an alert ends at. */
export const severityOf: Record<Environment, Severity> = {
  production: "critical",
  staging: "warning",
};

export const certificateDays = 14;

/** Several processes may tell of the same check: their words count once. */
const byCheck = "by (check, environment, kind)";

/** Alerts as they are opened by Vedette, and those that only another program can raise: it is away. */
export function monitorRules({ apiChecks, heartbeats, channels }: Definitions): Rule[] {
  const all = [...apiChecks, ...heartbeats];
  const failed = channels.flatMap(({ name }) => {
    const ids = all.filter(({ channel }) => channel === name).map(({ id }) => id);
    return ids.length === 0 ? [] : [failedRule(name, ids)];
  });
  return [...failed, ...watchRules];
}

function failedRule(channel: Environment, ids: readonly string[]): Rule {
  const series = `vedette_check_state{state="failed",check=~"${ids.join("|")}"}`;
  return {
    alert: "VedetteCheckFailed",
    expr: `max ${byCheck} (${series}) == 1`,
    labels: { severity: severityOf[channel] },
    annotations: { summary: "{{ $labels.check }} fails" },
  };
}

const watchRules: Rule[] = [
  {
    alert: "VedetteCheckSilent",
    expr: `max ${byCheck} (vedette_check_state{state="silent"}) == 1`,
    for: "5m",
    labels: { severity: "warning" },
    annotations: { summary: "nobody reports of {{ $labels.check }}" },
  },
  {
    alert: "VedetteCheckMissesRuns",
    expr: "sum by (check) (increase(vedette_check_missed_ticks_total[15m])) > 0",
    labels: { severity: "warning" },
    annotations: { summary: "{{ $labels.check }} was not run when it was due" },
  },
  {
    alert: "VedetteCertificateExpires",
    expr: `min by (check) (vedette_check_tls_days_left) < ${certificateDays}`,
    for: "10m",
    labels: { severity: "warning" },
    annotations: { summary: "a certificate that {{ $labels.check }} meets expires soon" },
  },
  {
    alert: "VedetteChecksUnknown",
    expr: "absent(vedette_check_state)",
    for: "5m",
    labels: { severity: "critical" },
    annotations: { summary: "Vedette says nothing of its checks: nobody watches" },
  },
];

/**
 * Two rules for each API check that pages: its probe fails, or nobody makes it. Each has the check as a
 * label of its own, since `promtool check rules` takes rules of one name and the same labels for one.
 */
export function probeRules({ apiChecks }: Definitions): Rule[] {
  return apiChecks.filter(hasChannel).flatMap((check) => {
    const series = `probe_success{check="${check.id}"}`;
    const waits = (check.failedRunThreshold - 1) * check.frequencySeconds;
    return [
      {
        alert: "VedetteProbeFailed",
        expr: `min by (check, environment) (${series}) == 0`,
        ...(waits > 0 && { for: `${waits}s` }),
        labels: { severity: severityOf[check.channel], check: check.id },
        annotations: { summary: `${check.id} fails` },
      },
      {
        alert: "VedetteProbeAbsent",
        expr: `absent(${series})`,
        for: absentFor(check),
        labels: { severity: "warning", check: check.id },
        annotations: { summary: `nobody probes ${check.id}` },
      },
    ];
  });
}

/** Rarer checks are waited for longer. */
function absentFor({ frequencySeconds }: ApiCheck): string {
  return `${Math.max(300, 3 * frequencySeconds)}s`;
}

export function hasChannel<Row extends ApiCheck | Heartbeat>(
  row: Row,
): row is Row & { channel: Environment } {
  return row.channel !== null;
}
