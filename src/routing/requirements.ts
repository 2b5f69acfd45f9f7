/** Requirements of the routes after every edit; `vedette alerts lint` checks them. */

/** Every such alert pages someone (docs/architecture.md, "Decisions"). */
export const mustPage: readonly { source: string; labels: Record<string, string> }[] = [
  { source: "alertmanager-production", labels: { severity: "critical" } },
  { source: "synthetic-production", labels: {} },
  { source: "critical-mailbox", labels: {} },
  { source: "dashboard-alerting", labels: {} },
  { source: "database-host", labels: { branch: "main" } },
];

/** Alerts that are meant to notify nobody: the condition of their route leaves them out on purpose. */
export const leftOut: readonly { source: string; label: string; because: string }[] = [
  {
    source: "database-host",
    label: "branch",
    because: "only the main branch serves anyone",
  },
];
