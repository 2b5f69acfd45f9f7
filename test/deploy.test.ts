/** The rules and the dashboard of deploy/, and docs/metrics.md, held against the metrics that there are. */
import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";

/** Every metric of the source: a name before its help, or one that a constant has. */
function declaredMetrics(): Set<string> {
  const source = globSync("src/**/*.ts").map((file) => readFileSync(file, "utf8"));
  const patterns = [
    /"(vedette_[a-z_]+)",\s*(?:help:|")/g,
    /const durationName = "(vedette_[a-z_]+)"/g,
  ];
  const found = source.flatMap((text) =>
    patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(([, name = ""]) => name)),
  );
  return new Set(found);
}

const declared = declaredMetrics();

type Rules = { groups: { rules: { record?: string; expr: string }[] }[] };
const rules = (
  parse(readFileSync("deploy/prometheus/vedette.yml", "utf8")) as Rules
).groups.flatMap((group) => group.rules);
const recorded = new Set(rules.flatMap(({ record = "" }) => record));

type Panel = {
  type: string;
  title: string;
  description?: string;
  fieldConfig?: { defaults: { unit?: string } };
  targets?: { expr: string }[];
};
const dashboard = JSON.parse(readFileSync("deploy/grafana/vedette.json", "utf8")) as {
  uid: string;
  panels: Panel[];
};
const panels = dashboard.panels.filter(({ type }) => type !== "row");

/** The names in an expression that are none of a metric, or of a rule. */
function unknownIn(expr: string): string[] {
  const names = expr.match(/\bvedette[_:][a-z0-9_:]+/g) ?? [];
  return names.filter(
    (name) => !recorded.has(name) && !declared.has(name.replace(/_(bucket|sum|count)$/, "")),
  );
}

it("finds the metrics in the source", () => {
  expect(declared.size).toBeGreaterThan(40);
  expect(unknownIn('rate(vedette_api_request_duration_seconds_bucket{job="a"}[5m])')).toEqual([]);
  expect(unknownIn("max(vedette_of_nothing) + vedette:of:nothing")).toHaveLength(2);
});

describe.each(rules)("the rule $record $alert", ({ expr }) => {
  it("is of metrics that there are", () => {
    expect(expr).toMatch(/vedette/);
    expect(unknownIn(expr)).toEqual([]);
  });
});

describe.each(panels)("the panel $title", ({ description, fieldConfig, targets = [] }) => {
  it("is of metrics that there are, says what it shows, and in which unit", () => {
    expect(targets.flatMap(({ expr }) => unknownIn(expr))).toEqual([]);
    expect(targets.length).toBeGreaterThan(0);
    expect(description).toMatch(/\w.*\.$/);
    expect(fieldConfig?.defaults.unit).toBeDefined();
  });
});

it("the dashboard shows every rule that is recorded for it", () => {
  const shown = panels.flatMap(({ targets = [] }) => targets).map(({ expr }) => expr);

  const hidden = [...recorded].filter((name) => !shown.some((expr) => expr.includes(name)));

  expect(hidden).toEqual([]);
});

it("docs/metrics.md has every metric, and no other", () => {
  const page = readFileSync("docs/metrics.md", "utf8");
  const documented = new Set(
    [...page.matchAll(/^\| `(vedette_[a-z_]+)`/gm)].map(([, name]) => name),
  );

  expect([...documented].sort()).toEqual([...declared].sort());
});
