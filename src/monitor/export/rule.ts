/** An alert rule of Prometheus. */

export type Rule = {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: Severity; check?: string };
  annotations: { summary: string };
};

export type Severity = "critical" | "warning";
