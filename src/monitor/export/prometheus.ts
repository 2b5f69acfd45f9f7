/** Exports the alert rules on Vedette's own metrics, with the scrape of these, for Prometheus. */
import { stringify } from "yaml";
import { type Environment, environments } from "#alerts/contract.ts";
import type { ApiCheck, Definitions, Heartbeat } from "#monitor/contract.ts";
import { hasChannels } from "#monitor/related.ts";
import { type ExportedFile, origin } from "./file.ts";

/** The scrape interval of Vedette's own metrics: the default of a minute would add the period of a run. */
const ownInterval = "15s";

/** Expects definitions without faults. `metricsAddress`: of Vedette's own metrics, `host:port`. */
export function exportPrometheus(
  definitions: Definitions,
  { metricsAddress }: { metricsAddress: string },
): ExportedFile[] {
  return [
    { path: "README.md", text: readme },
    write("prometheus.yml", {
      rule_files: ["rules/vedette.yml"],
      scrape_configs: [
        {
          job_name: "vedette",
          scrape_interval: ownInterval,
          static_configs: [{ targets: [metricsAddress] }],
        },
      ],
    }),
    write("rules/vedette.yml", {
      groups: [{ name: "vedette-checks", interval: ownInterval, rules: monitorRules(definitions) }],
    }),
  ];
}

function write(path: string, content: object): ExportedFile {
  const text = stringify(content, { lineWidth: 0, aliasDuplicateObjects: false });
  return { path, text: `# ${origin}\n${text}` };
}

const readme = `# Checks of Vedette for Prometheus

${origin}

- \`rules/vedette.yml\`: alerts from Vedette's own metrics, including heartbeats.
- \`prometheus.yml\`: the scrape configuration, to be added to yours.

Production checks have severity critical, staging checks warning. Checks without a channel have no rule,
because they page nobody.

    promtool check config prometheus.yml
`;

type Rule = {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: "critical" | "warning" };
  annotations: { summary: string };
};

/** Only production pages, whichever source of the incident service receives the alert. */
const severityOf: Record<Environment, Rule["labels"]["severity"]> = {
  production: "critical",
  staging: "warning",
};

/** Alerts that Vedette opens, and alerts about Vedette itself, which only another program can raise. */
function monitorRules({ apiChecks, heartbeats }: Definitions): Rule[] {
  const alerting = [...apiChecks, ...heartbeats].filter(hasChannels);
  const failed = environments.flatMap((environment) => {
    const ids = alerting.filter((row) => row.environment === environment).map(({ id }) => id);
    return ids.length === 0 ? [] : [failedRule(environment, ids)];
  });
  return [...failed, ...watchRules];
}

const failedName = "VedetteCheckFailed";

/** The labels of the alert of a check by its rule; null: it has no rule. */
export function labelsOfRule(
  check: ApiCheck | Heartbeat,
  kind: "api" | "heartbeat",
): Record<string, string> | null {
  const { id, environment } = check;
  const severity = severityOf[environment];
  return hasChannels(check)
    ? { alertname: failedName, check: id, environment, kind, severity }
    : null;
}

function failedRule(environment: Environment, ids: readonly string[]): Rule {
  // The open alert and not the state, because it respects mute, maintenance and the threshold already.
  const series = `vedette_check_alert_open{check=~"${ids.join("|")}"}`;
  return {
    alert: failedName,
    expr: `max ${byCheck} (${series}) == 1`,
    labels: { severity: severityOf[environment] },
    annotations: { summary: "{{ $labels.check }} fails" },
  };
}

/** Several processes may export the series of one check: aggregated to one alert. */
const byCheck = "by (check, environment, kind)";

const certificateDays = 14;

/** An event that is pending for this long pages too late. */
const pendingSeconds = 300;

const missedSeries = "vedette_check_missed_ticks_total";
const isNew = "on (job, instance) time() - process_start_time_seconds < 900";

/** `increase` does not see ticks counted before the first scrape: for 15 minutes after a start any count alerts. */
const missedTicks = `sum by (check) (increase(${missedSeries}[15m])) > 0 or max by (check) (${missedSeries} and ${isNew}) > 0`;

/** Alert rules about Vedette itself, for failures that it cannot report by an alert event of its own. */
const watchRules: Rule[] = [
  {
    alert: "VedetteCheckSilent",
    expr: `max ${byCheck} (vedette_check_state{state="silent"}) == 1`,
    for: "5m",
    labels: { severity: "warning" },
    annotations: { summary: "there are no reports of {{ $labels.check }}" },
  },
  {
    alert: "VedetteCheckMissesRuns",
    expr: missedTicks,
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
    annotations: { summary: "Vedette exports no state of its checks: nothing is monitored" },
  },
  {
    alert: "VedetteAlertsNotDelivered",
    expr: `max(vedette_alert_events_oldest_pending_seconds) > ${pendingSeconds}`,
    labels: { severity: "critical" },
    annotations: { summary: "alert events do not reach the incident service" },
  },
  {
    alert: "VedetteAlertTokenRefused",
    expr: "max(vedette_alert_events_token_refused) > 0",
    labels: { severity: "critical" },
    annotations: { summary: "the incident service refuses the token of an alert source" },
  },
  {
    alert: "VedetteAlertsRefused",
    expr: "max(vedette_alert_dead_letters) > 0",
    labels: { severity: "critical" },
    annotations: { summary: "the incident service refused alert events: see the dead letters" },
  },
  {
    alert: "VedetteAlertRoutesDrifted",
    expr: "max(vedette_alert_routes_drifted) > 0",
    for: "10m",
    labels: { severity: "warning" },
    annotations: { summary: "alert routes at the incident service differ from their rows" },
  },
  {
    alert: "VedetteAlertmanagerOutOfStep",
    expr: "min by (environment) (vedette_alertmanager_in_step) == 0",
    for: "10m",
    labels: { severity: "warning" },
    annotations: { summary: "the {{ $labels.environment }} alert manager is out of step" },
  },
];
