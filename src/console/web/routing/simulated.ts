/** The alert that a page simulates, as its address has it. Pure. */

type Alert = { source: string; labels: Readonly<Record<string, string>> };

const usual: Alert = { source: "alertmanager-production", labels: { severity: "critical" } };

/** The labels are a query of their own, because the sources name them. */
export function alertOf(query: Readonly<URLSearchParams>): Alert {
  const source = query.get("source");
  if (source === null) return usual;
  return { source, labels: Object.fromEntries(new URLSearchParams(query.get("labels") ?? "")) };
}

export function queryOf({ source, labels }: Alert): { source: string; labels: string } {
  return { source, labels: new URLSearchParams(labels).toString() };
}
