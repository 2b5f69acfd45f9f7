/** Exports the definitions as a project of the hosted monitor's command line, one file per check. */
import { parseJsonPath, writeJsonPath } from "#kernel/json-path.ts";
import type { ApiCheck, CheckOf, Definitions, Heartbeat } from "#monitor/contract.ts";
import { type Assertion, expandStatuses, isHttp } from "#monitor/kinds/contract.ts";
import { addressOf, describeRequest } from "#monitor/probe/request.ts";
import { type ExportedFile, origin } from "./file.ts";
import { assertsFailure, gapsOf } from "./hosted-limits.ts";

export type ChecklySettings = {
  /** The address of the API for the hosted monitor, without a trailing slash. */
  baseUrl: string;
  /** The secrets are `<prefix>_KEY` and `<prefix>_ROOT_KEY`. */
  secretPrefix: string;
};

/** The version of the package with which the project was tested. */
const checklyVersion = "9.5.0";

/** Expects definitions without faults, and leaves out drills and checks of other kinds than HTTP. Refers to the channels by number and does not manage them. */
export function exportCheckly(definitions: Definitions, settings: ChecklySettings): ExportedFile[] {
  const heartbeats = definitions.heartbeats.filter(({ drill }) => drill === undefined);
  const apiChecks = definitions.apiChecks.filter(isHttp);
  return [
    { path: "package.json", text: `${JSON.stringify(packageJson, null, 2)}\n` },
    { path: "checkly.config.ts", text: projectFile },
    { path: "README.md", text: describeProject(settings) },
    ...apiChecks.map((check) => ({
      path: `checks/${check.id}.check.ts`,
      text: writeApiCheck(check, { definitions, settings }),
    })),
    ...heartbeats.map((heartbeat) => ({
      path: `checks/${heartbeat.id}.check.ts`,
      text: writeHeartbeat(heartbeat, definitions),
    })),
  ];
}

const packageJson = {
  name: "vedette-checks",
  private: true,
  scripts: {
    validate: "checkly validate",
    preview: "checkly deploy --preview",
    deploy: "checkly deploy",
  },
  devDependencies: { checkly: checklyVersion },
};

const projectFile = `// ${origin}
import { defineConfig } from "checkly";

export default defineConfig({
  projectName: "Vedette",
  logicalId: "vedette",
  checks: { checkMatch: "checks/**/*.check.ts" },
});
`;

function describeProject({ secretPrefix: prefix }: ChecklySettings): string {
  return `# Checks of Vedette

${origin}

    npm install
    npx checkly env add ${prefix}_KEY      --secret    # a key that the checks verify
    npx checkly env add ${prefix}_ROOT_KEY --secret    # the root key that they call the API with
    npx checkly validate
    npx checkly deploy --preview             # what would change
    npx checkly deploy

Heartbeats get their ping addresses from the monitor when they are first deployed. The alert channels
are referred to by number and have to exist.
`;
}

type Context = { definitions: Definitions; settings: ChecklySettings };

type HttpCheck = CheckOf<"http">;

function writeApiCheck(check: HttpCheck, { definitions, settings }: Context): string {
  const channel = channelOf(check, definitions);
  const imports = [
    ...(channel === "" ? [] : ["AlertChannel"]),
    "AlertEscalationBuilder",
    "ApiCheck",
    "AssertionBuilder",
    "Frequency",
    "RetryStrategyBuilder",
  ];
  const escalation = `AlertEscalationBuilder.runBasedEscalation(${check.failedRunThreshold})`;
  return `// ${origin}
import {
  ${imports.join(",\n  ")},
} from "checkly/constructs";

new ApiCheck(${code(check.id)}, {
  name: ${code(check.name)},
  tags: [${code(check.environment)}],
  frequency: Frequency.${frequencyNames[check.frequencySeconds]},
  locations: ${wrap(check.locations.map(code), "  ")},
  runParallel: true,
  degradedResponseTime: ${check.degradedAboveMs},
  maxResponseTime: ${check.failedAboveMs},
  retryStrategy: RetryStrategyBuilder.noRetries(),
  shouldFail: ${assertsFailure(check.assertions)},
  alertEscalationPolicy: ${escalation},
  alertChannels: [${channel}],
  request: {
${writeRequest(check, settings)}
  },
});
`;
}

/** By seconds: all frequencies of the hosted monitor. */
const frequencyNames: Record<number, string> = {
  10: "EVERY_10S",
  20: "EVERY_20S",
  30: "EVERY_30S",
  60: "EVERY_1M",
  120: "EVERY_2M",
  300: "EVERY_5M",
  600: "EVERY_10M",
  900: "EVERY_15M",
  1800: "EVERY_30M",
  3600: "EVERY_1H",
  7200: "EVERY_2H",
  10800: "EVERY_3H",
  21600: "EVERY_6H",
  43200: "EVERY_12H",
  86400: "EVERY_24H",
};

function writeRequest(check: HttpCheck, { baseUrl, secretPrefix }: ChecklySettings): string {
  const name = (text: string) => text.replace(/\{\{(\w+)\}\}/g, `{{${secretPrefix}_$1}}`);
  const { headers, body } = describeRequest(check);
  const pairs = Object.entries(headers).map(
    ([key, value]) => `{ key: ${code(key)}, value: ${code(name(value))} }`,
  );
  const lines = [
    `method: ${code(check.method)},`,
    `url: ${code(name(addressOf(check, baseUrl)))},`,
    // As in our own probes; a redirect must not carry the secrets to another address.
    "followRedirects: false,",
    "skipSSL: false,",
    `headers: ${wrap(pairs, "    ")},`,
    ...(body === null ? [] : ['bodyType: "JSON",', `body: ${code(name(JSON.stringify(body)))},`]),
    `assertions: ${wrap(check.assertions.flatMap(writeAssertion), "    ")},`,
  ];
  return lines.map((line) => `    ${line}`).join("\n");
}

function writeAssertion(assertion: Assertion): string | string[] {
  switch (assertion.source) {
    case "status":
      return writeStatuses(expandStatuses(assertion.equals));
    case "header":
      return `AssertionBuilder.headers(${code(assertion.name)}).contains(${code(assertion.contains)})`;
    case "json": {
      const value = `AssertionBuilder.jsonBody(${code(writeJsonPath(parseJsonPath(assertion.path) ?? []))})`;
      return assertion.equals === null
        ? `${value}.isNull()`
        : `${value}.equals(${code(assertion.equals)})`;
    }
  }
}

/** The hosted monitor has no lists, but all of its assertions have to hold. */
function writeStatuses(statuses: readonly number[]): string[] {
  const [first = 200, last = first] = [statuses[0], statuses.at(-1)];
  if (first === last) return [`AssertionBuilder.statusCode().equals(${first})`];
  return [
    `AssertionBuilder.statusCode().greaterThan(${first - 1})`,
    `AssertionBuilder.statusCode().lessThan(${last + 1})`,
    ...gapsOf(statuses).map((status) => `AssertionBuilder.statusCode().notEquals(${status})`),
  ];
}

function writeHeartbeat(heartbeat: Heartbeat, definitions: Definitions): string {
  const { id, name, environment, watches, periodSeconds = 0, graceSeconds } = heartbeat;
  const channel = channelOf(heartbeat, definitions);
  return `// ${origin}
import { ${channel === "" ? "" : "AlertChannel, "}AlertEscalationBuilder, HeartbeatMonitor } from "checkly/constructs";

/** Pinged by: ${watches.replaceAll("*/", "* /")} */
new HeartbeatMonitor(${code(id)}, {
  name: ${code(name)},
  tags: [${code(environment)}],
  period: ${periodSeconds},
  periodUnit: "seconds",
  grace: ${graceSeconds},
  graceUnit: "seconds",
  // Without it the account's own settings would apply, which may delay the alert.
  alertEscalationPolicy: AlertEscalationBuilder.runBasedEscalation(1),
  alertChannels: [${channel}],
});
`;
}

/** The reference to the channel; empty: nobody is paged. */
function channelOf({ channel }: ApiCheck | Heartbeat, { channels }: Definitions): string {
  const found = channels.find(({ name }) => name === channel);
  return found === undefined ? "" : `AlertChannel.fromId(${found.id})`;
}

/** A list on one line if it fits, else one entry per line. */
function wrap(entries: readonly string[], indent: string): string {
  const line = entries.join(", ");
  if (line.length <= 70) return `[${line}]`;
  return `[\n${entries.map((entry) => `${indent}  ${entry},\n`).join("")}${indent}]`;
}

/** A value as source text. */
function code(value: unknown): string {
  return JSON.stringify(value);
}
