/** Exports the definitions as a project of the hosted monitor's command line, one file per check. */
import type { ApiCheck, Definitions, Heartbeat } from "#monitor/contract.ts";
import { hostedLocations } from "#monitor/hosted/contract.ts";
import { kindOf } from "#monitor/kinds/contract.ts";
import { code, wrap } from "#monitor/kinds/http.ts";
import type { HostedSettings } from "#monitor/kinds/kind.ts";
import { type ExportedFile, origin } from "./file.ts";

/** The version of the package with which the project was tested. */
const checklyVersion = "9.5.0";

/** Expects definitions without faults, and leaves out drills and checks of kinds that are not hosted. Refers to the channels by number and does not manage them. */
export function exportCheckly(definitions: Definitions, settings: HostedSettings): ExportedFile[] {
  const heartbeats = definitions.heartbeats.filter(({ drill }) => drill === undefined);
  return [
    { path: "package.json", text: `${JSON.stringify(packageJson, null, 2)}\n` },
    { path: "checkly.config.ts", text: projectFile },
    { path: "README.md", text: describeProject(settings) },
    ...definitions.apiChecks.flatMap((check) => {
      const text = writeApiCheck(check, { definitions, settings });
      return text === undefined ? [] : [{ path: `checks/${check.id}.check.ts`, text }];
    }),
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

function describeProject({ secretPrefix: prefix }: HostedSettings): string {
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

type Context = { definitions: Definitions; settings: HostedSettings };

/** undefined: the hosted monitor does not get checks of its kind. */
function writeApiCheck(check: ApiCheck, { definitions, settings }: Context): string | undefined {
  const own = kindOf(check).hosted?.write(check, settings);
  if (own === undefined) return undefined;
  const channel = channelOf(check, definitions);
  const imports = [
    ...(channel === "" ? [] : ["AlertChannel"]),
    ...["AlertEscalationBuilder", "Frequency", "RetryStrategyBuilder"],
    ...[own.construct, ...own.imports],
  ].toSorted();
  const escalation = `AlertEscalationBuilder.runBasedEscalation(${check.failedRunThreshold})`;
  return `// ${origin}
import {
  ${imports.join(",\n  ")},
} from "checkly/constructs";

new ${own.construct}(${code(check.id)}, {
  name: ${code(check.name)},
  tags: [${code(check.environment)}],
  frequency: Frequency.${nameFrequency(check.frequencySeconds)},
  locations: ${wrap(check.locations.map(code), "  ")},
  runParallel: true,
  degradedResponseTime: ${check.degradedAboveMs},
  maxResponseTime: ${check.failedAboveMs},
  retryStrategy: RetryStrategyBuilder.noRetries(),
  alertEscalationPolicy: ${escalation},
  alertChannels: [${channel}],
  ${own.lines.join("\n  ")}
});
`;
}

/** Frequencies of the hosted monitor, seconds. */
export const hostedFrequencies: readonly number[] = [
  10, 20, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400,
];

function nameFrequency(seconds: number): string {
  if (seconds < 60) return `EVERY_${seconds}S`;
  return seconds < 3_600 ? `EVERY_${seconds / 60}M` : `EVERY_${seconds / 3_600}H`;
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

const maxFailedRuns = 5;

/** One line per row that cannot be exported as it is, each beginning with its id; empty: all can. */
export function findUnhosted({ apiChecks, heartbeats }: Definitions): string[] {
  const byCron = heartbeats.filter(({ schedule, drill }) => schedule && !drill);
  return [
    ...apiChecks.flatMap((check) => faultsOf(check).map((fault) => `${check.id}: ${fault}`)),
    ...byCron.map(({ id }) => `${id}: the hosted monitor has no cron, only periods`),
  ];
}

/** One line per check or drill that is left out of the export. */
export function findLeftOut({ apiChecks, heartbeats }: Definitions): string[] {
  const others = apiChecks.filter((check) => kindOf(check).hosted === null);
  const drills = heartbeats.filter(({ drill }) => drill !== undefined);
  return [
    ...others.map(({ id, kind }) => `${id}: checks of kind ${kind} are not exported`),
    ...drills.map(({ id }) => `${id}: drills are not exported`),
  ];
}

function faultsOf(check: ApiCheck): string[] {
  const { hosted } = kindOf(check);
  if (hosted === null) return [];
  const { locations, frequencySeconds, failedRunThreshold } = check;
  const own = locations.filter((location) => !hostedLocations.includes(location));
  return [
    own.length > 0 && `the hosted monitor has no location ${own.join(", ")}`,
    !hostedFrequencies.includes(frequencySeconds) &&
      `the hosted monitor has no frequency of ${frequencySeconds} s`,
    failedRunThreshold > maxFailedRuns &&
      `the hosted monitor counts ${maxFailedRuns} failed runs at most`,
    ...hosted.findFaults(check),
  ].filter((fault) => fault !== false);
}
