/** Alert rules about Vedette itself, for failures that it cannot report by an alert event of its own. */
import type { Rule } from "./rule.ts";

/** Several processes may export the series of one check: aggregated to one alert. */
export const byCheck = "by (check, environment, kind)";

export const certificateDays = 14;

/** An event that is pending for this long pages too late. */
export const pendingSeconds = 300;

const missedSeries = "vedette_check_missed_ticks_total";
const isNew = "on (job, instance) time() - process_start_time_seconds < 900";

/**
 * Ticks missed between two processes are counted by the second one before its first scrape, which `increase`
 * does not see: for 15 minutes after its start any count alerts.
 */
const missedTicks = `sum by (check) (increase(${missedSeries}[15m])) > 0 or max by (check) (${missedSeries} and ${isNew}) > 0`;

export const watchRules: Rule[] = [
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
