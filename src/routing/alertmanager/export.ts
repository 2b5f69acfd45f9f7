/** The routes for Alertmanager: its configuration, and a script that tests it with amtool. */
import { stringify } from "yaml";
import type { AlertRoute } from "#routing/contract.ts";
import { combineDomain, coverSource, notSet, standIn } from "#routing/coverage.ts";
import { isPlain, quoteLabel, writeLabel } from "./matchers.ts";
import { buildConfig, type Delivery, environmentLabel, findTaker, nameReceivers } from "./tree.ts";

type File = { path: string; text: string };

type Deliveries = readonly [Delivery, ...Delivery[]];

const origin = "Written by `vedette alerts export alertmanager`: change the routes, not this file.";

/** The text of `alertmanager.yml`; it holds the path of the token's file and not the token. */
export function writeAlertmanagerYaml(
  deliveries: Deliveries,
  routes: readonly AlertRoute[],
): string {
  const config = buildConfig(deliveries, routes);
  return `# ${origin}\n${stringify(config, { lineWidth: 0, aliasDuplicateObjects: false })}`;
}

export function exportAlertmanager(deliveries: Deliveries, routes: readonly AlertRoute[]): File[] {
  return [
    { path: "alertmanager.yml", text: writeAlertmanagerYaml(deliveries, routes) },
    { path: "check.sh", text: writeCheck(deliveries, routes) },
    { path: "README.md", text: describe(deliveries) },
  ];
}

function writeCheck(deliveries: Deliveries, routes: readonly AlertRoute[]): string {
  const kinds = expectReceivers(deliveries, routes);
  const lines = kinds.map(({ receiver, labels }) => {
    const pairs = Object.entries(labels).map(
      ([name, value]) => `${writeLabel(name)}=${quoteLabel(value)}`,
    );
    return ["expect", receiver, ...pairs.map(quoteShell)].join(" ");
  });
  return `#!/bin/sh
# ${origin}
# Every kind of alert that the conditions tell apart, and its receiver by the routes.
set -eu
cd "$(dirname "$0")"
amtool check-config alertmanager.yml
expect() {
  receiver=$1
  shift
  said=$(amtool config routes test --config.file=alertmanager.yml \\
    --verify.receivers="$receiver" "$@" 2>&1) || {
    printf 'not sent to %s: %s\\n%s\\n' "$receiver" "$*" "$said" >&2
    exit 1
  }
}
${lines.join("\n")}
echo "${kinds.length} kinds of alerts reach the receivers that the routes name"
`;
}

function quoteShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function describe(deliveries: Deliveries): string {
  const rows = deliveries.map(
    ({ source, url, credentialsFile }) =>
      `| ${source.environment} | ${url} | \`${credentialsFile}\` |`,
  );
  return `# Alert routes of Vedette for Alertmanager

${origin}

- \`alertmanager.yml\`: a receiver per route; each sends one alert per message, and recoveries too.
- \`check.sh\`: has \`amtool\` check the configuration and route every kind of alert through it.

| Environment | Sent to | Token file, as Alertmanager sees it |
| --- | --- | --- |
${rows.join("\n")}

Alertmanager reads the token at every message, so that a new one needs no restart. \`vedette alerts
rotate\` writes the file; only Alertmanager's user should be able to read it.

    sh check.sh
    curl -X POST http://127.0.0.1:9093/-/reload
`;
}

/** The receiver that a kind of alert has to reach, computed from the rows and not from the tree. */
type Expectation = { receiver: string; labels: Record<string, string> };

/** Throws a RangeError when a source has more kinds of alerts than can be tried. */
function expectReceivers(
  deliveries: readonly Delivery[],
  routes: readonly AlertRoute[],
): Expectation[] {
  const environments = deliveries.map(({ source }) => source.environment);
  const nameOf = nameReceivers(routes);
  return deliveries.flatMap((delivery, i) => {
    const kinds = kindsOf(delivery, routes);
    const own = kinds.map((labels) => ({ ...labels, [environmentLabel]: environments[i] ?? "" }));
    // Alerts that name none of the environments belong to the first one.
    const others = i === 0 ? kinds.filter((labels) => !namesOne(labels, environments)) : [];
    return [...others, ...own].map((labels) => ({
      receiver: nameOf(delivery.source, findTaker(delivery.source, labels, routes)),
      labels,
    }));
  });
}

type Labels = Expectation["labels"];

function kindsOf({ source }: Delivery, routes: readonly AlertRoute[]): Labels[] {
  // Other names count only in conditions: an old Alertmanager has neither.
  const labels = Object.entries(source.labels).filter(([name]) => isPlain(name));
  const { domain } = coverSource({ ...source, labels: Object.fromEntries(labels) }, routes);
  return combineDomain(domain).map((values) =>
    Object.fromEntries(
      Object.entries(values)
        .filter(([, value]) => value !== notSet)
        .map(([name, value]) => [name, standIn(value, domain[name] ?? [])]),
    ),
  );
}

function namesOne(labels: Labels, environments: readonly string[]): boolean {
  return environments.includes(labels[environmentLabel] ?? "");
}
