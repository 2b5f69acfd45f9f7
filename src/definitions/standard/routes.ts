/** The standard sources and routes of alerts (docs/alert-routing.md). */
import type { AlertRoute, AlertSource, Condition } from "#routing/contract.ts";

/** The values that alert rules set; `info` is common too. */
const severity = ["critical", "warning", "info"];

export const sources: readonly AlertSource[] = [
  {
    name: "alertmanager-production",
    title: "Alertmanager (production)",
    kind: "alertmanager",
    environment: "production",
    labels: { severity },
  },
  {
    name: "alertmanager-staging",
    title: "Alertmanager (staging)",
    kind: "alertmanager",
    environment: "staging",
    labels: { severity },
  },
  {
    name: "synthetic-production",
    title: "Synthetic monitor (production)",
    kind: "checkly",
    environment: "production",
    labels: {},
  },
  {
    name: "synthetic-staging",
    title: "Synthetic monitor (staging)",
    kind: "checkly",
    environment: "staging",
    labels: {},
  },
  {
    name: "critical-mailbox",
    title: "Critical alerts mailbox",
    kind: "email",
    environment: "production",
    labels: {},
  },
  {
    name: "dashboard-alerting",
    title: "Dashboard alerting",
    kind: "http",
    environment: "production",
    labels: {},
  },
  {
    name: "database-host",
    title: "Database host",
    kind: "http",
    environment: "production",
    labels: { branch: ["main"] },
  },
  { name: "log-analytics", title: "Log analytics", kind: "http", environment: null, labels: {} },
  {
    name: "status-page-views",
    title: "Status page views",
    kind: "status_page_views",
    environment: null,
    labels: {},
  },
];

const every: Condition[] = [];
const has = (label: string, ...values: string[]): Condition[] => [
  { label, operation: "one_of", values },
];
const lacks = (label: string): Condition[] => [{ label, operation: "is_not_set" }];

export const routes: readonly AlertRoute[] = [
  {
    name: "Production Alerts",
    sources: [
      { source: "alertmanager-production", conditions: has("severity", "critical") },
      { source: "synthetic-production", conditions: every },
      { source: "critical-mailbox", conditions: every },
      { source: "dashboard-alerting", conditions: every },
    ],
    escalation: "Engineering On-Call",
    channel: "#alerts",
  },
  {
    name: "Production Warnings",
    sources: [{ source: "alertmanager-production", conditions: has("severity", "warning") }],
    escalation: null,
    channel: "#alerts",
  },
  {
    name: "Unrouted Alerts",
    sources: [{ source: "alertmanager-production", conditions: lacks("severity") }],
    escalation: null,
    channel: "#alerts",
  },
  {
    name: "Database Alerts",
    sources: [{ source: "database-host", conditions: has("branch", "main") }],
    escalation: "Engineering On-Call",
    channel: "#alerts",
  },
  {
    name: "Staging Notifications",
    sources: [
      { source: "alertmanager-staging", conditions: every },
      { source: "synthetic-staging", conditions: every },
    ],
    escalation: null,
    channel: "#alerts",
  },
  {
    name: "Informational",
    sources: [
      { source: "log-analytics", conditions: every },
      { source: "status-page-views", conditions: every },
    ],
    escalation: null,
    channel: "#alerts",
  },
];
