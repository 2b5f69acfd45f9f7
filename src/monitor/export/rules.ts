/** Alert rules: on the metrics of Vedette itself, and on those of blackbox-exporter. */

import type { Environment } from "#alerts/contract.ts";
import type { ApiCheck, Definitions, Heartbeat } from "#monitor/contract.ts";
import type { Rule, Severity } from "./rule.ts";
import { byCheck, watchRules } from "./watch-rules.ts";

/** Only production pages, whichever source of the incident service an alert ends at. */
export const severityOf: Record<Environment, Severity> = {
  production: "critical",
  staging: "warning",
};

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
  // An alert that is open, not a state: mute, maintenance and failed runs in a row are in it already.
  const series = `vedette_check_alert_open{check=~"${ids.join("|")}"}`;
  return {
    alert: "VedetteCheckFailed",
    expr: `max ${byCheck} (${series}) == 1`,
    labels: { severity: severityOf[channel] },
    annotations: { summary: "{{ $labels.check }} fails" },
  };
}

/**
 * Two rules for each API check that pages: its probe fails, or nobody makes it. Each has the check as a
 * label of its own, since `promtool check rules` takes rules of one name and the same labels for one.
 */
export function probeRules(checks: readonly PagingCheck[]): Rule[] {
  return checks.flatMap((check) => {
    const { id, channel, frequencySeconds, failedRunThreshold } = check;
    const waits = (failedRunThreshold - 1) * frequencySeconds;
    return [
      {
        alert: "VedetteProbeFailed",
        expr: `min by (check, environment) (${lastProbe(check)}) == 0`,
        ...(waits > 0 && { for: `${waits}s` }),
        labels: { severity: severityOf[channel], check: id },
        annotations: { summary: `${id} fails` },
      },
      {
        alert: "VedetteProbeAbsent",
        expr: `absent(${lastProbe(check)})`,
        for: `${absentSeconds(check)}s`,
        labels: { severity: "warning", check: id },
        annotations: { summary: `nobody probes ${id}` },
      },
    ];
  });
}

/** Until it is said that nobody probes. */
export function absentSeconds({ frequencySeconds }: ApiCheck): number {
  return Math.max(300, frequencySeconds);
}

/** Prometheus forgets a value after 5 minutes; up to this period one scrape may be lost before it does. */
const rememberedSeconds = 120;

/** Of checks that run less often, the value of the last run is looked for as far back as it may be. */
function lastProbe({ id, frequencySeconds }: ApiCheck): string {
  const series = `probe_success{check="${id}"}`;
  if (frequencySeconds <= rememberedSeconds) return series;
  return `last_over_time(${series}[${2 * frequencySeconds}s])`;
}

export type PagingCheck = ApiCheck & { channel: Environment };

export function hasChannel<Row extends ApiCheck | Heartbeat>(
  row: Row,
): row is Row & { channel: Environment } {
  return row.channel !== null;
}
