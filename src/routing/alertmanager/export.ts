/** The routes for Alertmanager: its configuration, and a script that proves it with amtool. */
import { stringify } from "yaml";
import type { AlertRoute } from "#routing/contract.ts";
import { expectReceivers } from "./expectations.ts";
import { quoteLabel } from "./matchers.ts";
import { buildConfig, type Delivery } from "./tree.ts";

type File = { path: string; text: string };

type Sendings = readonly [Delivery, ...Delivery[]];

const origin = "Written by `vedette alerts export alertmanager`: change the routes, not this file.";

/** The text of `alertmanager.yml`; it holds no token, only where one is. */
export function writeAlertmanagerYaml(sendings: Sendings, routes: readonly AlertRoute[]): string {
  const config = buildConfig(sendings, routes);
  return `# ${origin}\n${stringify(config, { lineWidth: 0, aliasDuplicateObjects: false })}`;
}

export function exportAlertmanager(sendings: Sendings, routes: readonly AlertRoute[]): File[] {
  return [
    { path: "alertmanager.yml", text: writeAlertmanagerYaml(sendings, routes) },
    { path: "check.sh", text: writeCheck(sendings, routes) },
    { path: "README.md", text: describe(sendings) },
  ];
}

function writeCheck(sendings: Sendings, routes: readonly AlertRoute[]): string {
  const kinds = expectReceivers(sendings, routes);
  const lines = kinds.map(({ receiver, labels }) => {
    const pairs = Object.entries(labels).map(([name, value]) => `${name}=${quoteLabel(value)}`);
    return ["expect", receiver, ...pairs.map(quoteShell)].join(" ");
  });
  return `#!/bin/sh
# ${origin}
# Every kind of alert that can make a difference, and the receiver that the routes have for it.
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
echo "${kinds.length} kinds of alerts go where the routes have them"
`;
}

function quoteShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function describe(sendings: Sendings): string {
  const rows = sendings.map(
    ({ source, url, credentialsFile }) =>
      `| ${source.environment} | ${url} | \`${credentialsFile}\` |`,
  );
  return `# Alert routes of Vedette for Alertmanager

${origin}

- \`alertmanager.yml\`: a receiver per route; each sends one alert per message, and recoveries too.
- \`check.sh\`: has \`amtool\` check the configuration, and try every kind of alert on it.

| Environment | Sent to | Token, as Alertmanager sees it |
| --- | --- | --- |
${rows.join("\n")}

Alertmanager reads the token at every message, so that a new one needs no restart. \`vedette alerts
rotate\` puts it there; the file is to be readable by Alertmanager's user alone.

    sh check.sh
    curl -X POST http://127.0.0.1:9093/-/reload
`;
}
