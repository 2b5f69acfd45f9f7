/** Exports the definitions for Prometheus and its blackbox-exporter: rules, their tests, probes. */
import { stringify } from "yaml";
import type { ApiCheck, Definitions } from "#monitor/contract.ts";
import { hasChannels } from "#monitor/related.ts";
import { ownInterval, writeModules, writeScrapes } from "./blackbox.ts";
import { type ExportedFile, origin } from "./file.ts";
import { findUnprobed, whyNotProbed } from "./other-kinds.ts";
import { monitorTests, probeTests } from "./rule-tests.ts";
import { monitorRules, probeRules } from "./rules.ts";

export type PrometheusSettings = {
  /** The address of the API, without a trailing slash. */
  baseUrl: string;
  /** The secrets are `${<prefix>_KEY}` and `${<prefix>_ROOT_KEY}`. */
  secretPrefix: string;
  /** The address of Vedette's own metrics, `host:port`. */
  metricsAddress: string;
};

/** Expects definitions without faults. */
export function exportPrometheus(
  definitions: Definitions,
  settings: PrometheusSettings,
): ExportedFile[] {
  const monitor = monitorRules(definitions);
  const probes = probesByFrequency(definitions);
  return [
    { path: "README.md", text: describe(settings, probes, findUnprobed(definitions)) },
    write("prometheus.yml", {
      rule_files: ["rules/vedette.yml", ...probes.map(({ file }) => `rules/${file}.yml`)],
      scrape_configs: writeScrapes(definitions, settings),
    }),
    write("blackbox.yml", { modules: writeModules(definitions, settings) }),
    write("rules/vedette.yml", {
      groups: [{ name: "vedette-checks", interval: ownInterval, rules: monitor }],
    }),
    write("rules/vedette.test.yml", {
      rule_files: ["vedette.yml"],
      tests: monitorTests(definitions, monitor),
    }),
    ...probes.flatMap(writeProbes),
  ];
}

type Probes = { file: string; seconds: number; checks: ApiCheck[] };

/** One file per frequency, because each has its own interval of evaluation and of tests. */
function probesByFrequency({ apiChecks }: Definitions): Probes[] {
  const probed = apiChecks.filter((check) => whyNotProbed(check) === null);
  const groups = Map.groupBy(probed.filter(hasChannels), (check) => check.frequencySeconds);
  return [...groups].map(([seconds, checks]) => ({
    file: `probes-every-${seconds}s`,
    seconds,
    checks,
  }));
}

/** Rules are evaluated at least twice per probe, and at least this often, so that none is missed. */
const maxIntervalSeconds = 60;

function writeProbes({ file, seconds, checks }: Probes): ExportedFile[] {
  const interval = `${Math.min(seconds / 2, maxIntervalSeconds)}s`;
  const group = { name: `vedette-${file}`, interval, rules: probeRules(checks) };
  return [
    write(`rules/${file}.yml`, { groups: [group] }),
    write(`rules/${file}.test.yml`, {
      rule_files: [`${file}.yml`],
      evaluation_interval: `${seconds}s`,
      tests: probeTests(checks),
    }),
  ];
}

function write(path: string, content: object): ExportedFile {
  const text = stringify(content, { lineWidth: 0, aliasDuplicateObjects: false });
  return { path, text: `# ${origin}\n${text}` };
}

function describe(
  { secretPrefix: prefix }: PrometheusSettings,
  probes: Probes[],
  unprobed: string[],
): string {
  const tests = ["vedette", ...probes.map(({ file }) => file)].map(
    (file) => `rules/${file}.test.yml`,
  );
  return `# Checks of Vedette for Prometheus

${origin}

- \`rules/vedette.yml\`: alerts from Vedette's own metrics, including heartbeats.
- \`rules/probes-….yml\`: alerts from the same API checks, run by blackbox-exporter. Use one of the two, or
  both: then one failure alerts twice.
- \`rules/*.test.yml\`: tests of the rules.
- \`blackbox.yml\`: a module per API check, which fails when the check does. It matches JSON as text: a name
  matches at any depth. It has no degraded.
- \`prometheus.yml\`: the scrape configurations, to be added to yours.

Production checks have severity critical, staging checks warning. Checks without a channel have no rule,
because they page nobody.

    promtool check config prometheus.yml
    promtool test rules ${tests.join(" ")}
    export ${prefix}_KEY=… ${prefix}_ROOT_KEY=…
    envsubst '$${prefix}_KEY $${prefix}_ROOT_KEY' <blackbox.yml >/etc/prometheus/blackbox.yml
${listUnprobed(unprobed)}`;
}

function listUnprobed(unprobed: readonly string[]): string {
  if (unprobed.length === 0) return "";
  const lines = unprobed.map((line) => `- ${line}\n`).join("");
  return `\nThe exporter cannot run these checks, which have alerts from Vedette's own metrics alone:\n\n${lines}`;
}
