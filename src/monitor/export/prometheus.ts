/** The definitions for Prometheus and its blackbox-exporter: rules, their tests, probes. */
import { stringify } from "yaml";
import type { Definitions } from "#monitor/contract.ts";
import { ownInterval, writeModules, writeScrapes } from "./blackbox.ts";
import { type ExportedFile, origin } from "./file.ts";
import { monitorTests, probeTests } from "./rule-tests.ts";
import { hasChannel, monitorRules, type PagingCheck, probeRules } from "./rules.ts";

export type PrometheusSettings = {
  /** Where the API is, without a trailing slash. */
  baseUrl: string;
  /** Secrets stand as `${<prefix>_KEY}` and `${<prefix>_ROOT_KEY}`. */
  secretPrefix: string;
  /** Vedette's own metrics, `host:port`. */
  metricsAddress: string;
};

/** Definitions without faults are asked for. */
export function exportPrometheus(
  definitions: Definitions,
  settings: PrometheusSettings,
): ExportedFile[] {
  const monitor = monitorRules(definitions);
  const probes = probesByFrequency(definitions);
  return [
    { path: "README.md", text: describe(settings, probes) },
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

type Probes = { file: string; seconds: number; checks: PagingCheck[] };

/** One file for each frequency: rules are looked at, and tested, in steps of their own. */
function probesByFrequency({ apiChecks }: Definitions): Probes[] {
  const groups = Map.groupBy(apiChecks.filter(hasChannel), (check) => check.frequencySeconds);
  return [...groups].map(([seconds, checks]) => ({
    file: `probes-every-${seconds}s`,
    seconds,
    checks,
  }));
}

/** Looked at so often that no probe is passed over. */
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

function describe({ secretPrefix: prefix }: PrometheusSettings, probes: Probes[]): string {
  const tests = ["vedette", ...probes.map(({ file }) => file)].map(
    (file) => `rules/${file}.test.yml`,
  );
  return `# Checks of Vedette for Prometheus

${origin}

- \`rules/vedette.yml\`: alerts from Vedette's own metrics, heartbeats too.
- \`rules/probes-….yml\`: alerts from the same API checks as blackbox-exporter makes them. Take one of the
  two, or both: then one failure alerts twice.
- \`rules/*.test.yml\`: what the rules have to do.
- \`blackbox.yml\`: a module per API check, which fails when the check does. Of JSON it sees text: a name
  counts wherever it stands. Degraded is unknown to it.
- \`prometheus.yml\`: the scrapes, to be put into yours.

Production checks have severity critical, staging checks warning. Checks without a channel have no rule:
they page nobody.

    promtool check config prometheus.yml
    promtool test rules ${tests.join(" ")}
    export ${prefix}_KEY=… ${prefix}_ROOT_KEY=…
    envsubst '$${prefix}_KEY $${prefix}_ROOT_KEY' <blackbox.yml >/etc/prometheus/blackbox.yml
`;
}
