/** What the routes are for, whoever changes them: `vedette alerts lint` holds them to it. */

/** Every such alert pages someone (docs/architecture.md, "Alert channels and routes"). */
export const mustPage: readonly { source: string; labels: Record<string, string> }[] = [
  { source: "alertmanager-production", labels: { severity: "critical" } },
  { source: "synthetic-production", labels: {} },
  { source: "critical-mailbox", labels: {} },
  { source: "dashboard-alerting", labels: {} },
  { source: "database-host", labels: { branch: "main" } },
];

/** Alerts that are meant to reach nobody: the condition of their route is there to leave them out. */
export const leftOut: readonly { source: string; label: string; because: string }[] = [
  {
    source: "database-host",
    label: "branch",
    because: "only the main branch serves anyone",
  },
];
