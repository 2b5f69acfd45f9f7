/** Tests of the exported rules, for `promtool test rules`. */
import type { ApiCheck, Definitions, Heartbeat } from "#monitor/contract.ts";
import { hasChannels } from "#monitor/related.ts";

type Rule = {
  alert: string;
  labels: Record<string, string>;
  annotations: { summary: string };
};

const certificateDays = 14;
const pendingSeconds = 300;

type ExpectedAlert = { exp_labels: Record<string, string>; exp_annotations: Rule["annotations"] };

type RuleTest = {
  name: string;
  interval: string;
  input_series: { series: string; values: string }[];
  alert_rule_test: { eval_time: string; alertname: string; exp_alerts: ExpectedAlert[] }[];
};

/** One test per check, with or without a channel, and tests of each rule about the monitor itself. */
export function monitorTests(definitions: Definitions, rules: readonly Rule[]): RuleTest[] {
  const { apiChecks, heartbeats } = definitions;
  const [first] = apiChecks;
  return [
    ...apiChecks.map((check) => stateTest(check, "api")),
    ...heartbeats.map((heartbeat) => stateTest(heartbeat, "heartbeat")),
    ...(first === undefined ? [] : watchTests(first, rules)),
  ];
}

function stateTest(row: ApiCheck | Heartbeat, kind: "api" | "heartbeat"): RuleTest {
  const labels = { check: row.id, environment: row.environment, kind };
  const alerts = hasChannels(row)
    ? [
        {
          exp_labels: {
            ...labels,
            severity: row.environment === "production" ? "critical" : "warning",
          },
          exp_annotations: { summary: `${row.id} fails` },
        },
      ]
    : [];
  return {
    name: hasChannels(row) ? `${row.id} alerts while it fails` : `${row.id} pages nobody`,
    interval: "1m",
    input_series: [
      // Two processes export the same series: one alert.
      series("vedette_check_alert_open", { ...labels, instance: "a" }, "0 1 1 0"),
      series("vedette_check_alert_open", { ...labels, instance: "b" }, "0 1 1 0"),
    ],
    alert_rule_test: [
      { eval_time: "0m", alertname: "VedetteCheckFailed", exp_alerts: [] },
      { eval_time: "1m", alertname: "VedetteCheckFailed", exp_alerts: alerts },
      { eval_time: "2m", alertname: "VedetteCheckFailed", exp_alerts: alerts },
      { eval_time: "3m", alertname: "VedetteCheckFailed", exp_alerts: [] },
    ],
  };
}

function watchTests({ id, environment }: ApiCheck, rules: readonly Rule[]): RuleTest[] {
  const check = { check: id };
  const state = { ...check, environment, kind: "api" };
  const silent = series("vedette_check_state", { ...state, state: "silent" }, "1x20");
  const missed = (values: string) => series("vedette_check_missed_ticks_total", check, values);
  // The process starts at the third minute.
  const newProcess = series("process_start_time_seconds", {}, "_x2 180x30");
  const days = (count: number) => series("vedette_check_tls_days_left", check, `${count}x20`);
  const expect = (alertname: string, labels: Record<string, string>) =>
    expected(rules, { alertname, labels, id });
  return [
    ruleTest("VedetteCheckSilent", [silent], {
      "4m": [],
      "6m": expect("VedetteCheckSilent", state),
    }),
    ruleTest("VedetteCheckMissesRuns", [missed("0x2 3x30")], {
      "2m": [],
      "5m": expect("VedetteCheckMissesRuns", check),
      "30m": [],
    }),
    ruleTest("VedetteCheckMissesRuns", [missed("_x2 3x30"), newProcess], {
      "3m": expect("VedetteCheckMissesRuns", check),
      "30m": [],
    }),
    ruleTest("VedetteCheckMissesRuns", [missed("_x2 0x30"), newProcess], { "5m": [] }),
    ruleTest("VedetteCertificateExpires", [days(certificateDays)], { "15m": [] }),
    ruleTest("VedetteCertificateExpires", [days(certificateDays - 1)], {
      "9m": [],
      "11m": expect("VedetteCertificateExpires", check),
    }),
    ruleTest("VedetteChecksUnknown", [silent], { "10m": [] }),
    ruleTest("VedetteChecksUnknown", [], { "4m": [], "6m": expect("VedetteChecksUnknown", {}) }),
    ...deliveryTests(rules),
  ];
}

/** Each series goes bad at the third minute. */
function deliveryTests(rules: readonly Rule[]): RuleTest[] {
  const turn = (metric: string, values: string, labels = {}) => [series(metric, labels, values)];
  const waiting = `${pendingSeconds}x2 ${pendingSeconds + 1}x20`;
  const environment = "production";
  const expect = (alertname: string, labels = {}) =>
    expected(rules, { alertname, labels, id: environment });
  return [
    ruleTest(
      "VedetteAlertsNotDelivered",
      turn("vedette_alert_events_oldest_pending_seconds", waiting),
      { "2m": [], "3m": expect("VedetteAlertsNotDelivered") },
    ),
    ruleTest("VedetteAlertTokenRefused", turn("vedette_alert_events_token_refused", "0x2 1x20"), {
      "2m": [],
      "3m": expect("VedetteAlertTokenRefused"),
    }),
    ruleTest("VedetteAlertsRefused", turn("vedette_alert_dead_letters", "0x2 1x20"), {
      "2m": [],
      "3m": expect("VedetteAlertsRefused"),
    }),
    ruleTest("VedetteAlertRoutesDrifted", turn("vedette_alert_routes_drifted", "0x2 1x20"), {
      "12m": [],
      "14m": expect("VedetteAlertRoutesDrifted"),
    }),
    ruleTest(
      "VedetteAlertmanagerOutOfStep",
      turn("vedette_alertmanager_in_step", "1x2 0x20", { environment }),
      { "12m": [], "14m": expect("VedetteAlertmanagerOutOfStep", { environment }) },
    ),
  ];
}

function ruleTest(
  alertname: string,
  input: RuleTest["input_series"],
  at: Record<string, ExpectedAlert[]>,
): RuleTest {
  return {
    name: alertname,
    interval: "1m",
    input_series: input,
    alert_rule_test: Object.entries(at).map(([eval_time, exp_alerts]) => ({
      eval_time,
      alertname,
      exp_alerts,
    })),
  };
}

/** `id`: the check or environment that the summary names. */
type AlertRule = { alertname: string; labels: Record<string, string>; id: string };

function expected(rules: readonly Rule[], { alertname, labels, id }: AlertRule): ExpectedAlert[] {
  return rules
    .filter(({ alert }) => alert === alertname)
    .map((rule) => ({
      exp_labels: { ...labels, ...rule.labels },
      exp_annotations: { summary: rule.annotations.summary.replace(/{{ \$labels\.\w+ }}/, id) },
    }));
}

function series(metric: string, labels: Record<string, string>, values: string) {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return { series: `${metric}{${pairs.join(",")}}`, values };
}
