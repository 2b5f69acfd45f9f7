/** Rows of routes and sources for tests, and random ones. */
import fc from "fast-check";
import type { AlertRoute, AlertSource, Condition } from "#routing/contract.ts";

export function aSource(over: Partial<AlertSource> = {}): AlertSource {
  return {
    name: "metrics",
    title: "Metrics",
    kind: "alertmanager",
    environment: "production",
    labels: { severity: ["critical", "warning"] },
    ...over,
  };
}

export function aRoute(over: Partial<AlertRoute> = {}): AlertRoute {
  return {
    name: "All",
    sources: [{ source: "metrics", conditions: [] }],
    escalation: null,
    channel: "#alerts",
    ...over,
  };
}

const labels = ["severity", "team"];
const values = ["critical", "warning", "info", "core"];

const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({
    label: fc.constantFrom(...labels),
    operation: fc.constantFrom("one_of" as const, "none_of" as const),
    values: fc.uniqueArray(fc.constantFrom(...values), { minLength: 1 }),
  }),
  fc.record({
    label: fc.constantFrom(...labels),
    operation: fc.constantFrom("is_set" as const, "is_not_set" as const),
  }),
);

/** Up to five routes of the source `metrics` with up to three conditions each. */
export const anyRoutes: fc.Arbitrary<AlertRoute[]> = fc
  .array(fc.array(condition, { maxLength: 3 }), { minLength: 1, maxLength: 5 })
  .map((all) =>
    all.map((conditions, i) =>
      aRoute({ name: `Route ${i}`, sources: [{ source: "metrics", conditions }] }),
    ),
  );

/** Labels of an alert: values that rows name, and ones that nobody ever heard of. */
export const anyLabels: fc.Arbitrary<Record<string, string>> = fc.dictionary(
  fc.constantFrom(...labels, "other"),
  fc.oneof(fc.constantFrom(...values), fc.string()),
);
