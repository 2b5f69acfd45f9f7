/** The definitions for Prometheus and its blackbox-exporter: rules, their tests, probes. */
import { stringify } from "yaml";
import type { Definitions } from "#monitor/contract.ts";
import { writeModules, writeScrapes } from "./blackbox.ts";
import { type ExportedFile, origin } from "./file.ts";
import { monitorTests, probeTests } from "./rule-tests.ts";
import { monitorRules, probeRules } from "./rules.ts";

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
  const probes = probeRules(definitions);
  return [
    { path: "README.md", text: describe(settings) },
    write("prometheus.yml", {
      rule_files: ["rules/vedette.yml", "rules/blackbox.yml"],
      scrape_configs: writeScrapes(definitions, settings),
    }),
    write("blackbox.yml", { modules: writeModules(definitions, settings) }),
    write("rules/vedette.yml", { groups: [{ name: "vedette-checks", rules: monitor }] }),
    write("rules/vedette.test.yml", {
      rule_files: ["vedette.yml"],
      tests: monitorTests(definitions, monitor),
    }),
    write("rules/blackbox.yml", { groups: [{ name: "vedette-probes", rules: probes }] }),
    write("rules/blackbox.test.yml", {
      rule_files: ["blackbox.yml"],
      tests: probeTests(definitions, probes),
    }),
  ];
}

function write(path: string, content: object): ExportedFile {
  const text = stringify(content, { lineWidth: 0, aliasDuplicateObjects: false });
  return { path, text: `# ${origin}\n${text}` };
}

function describe({ secretPrefix: prefix }: PrometheusSettings): string {
  return `# Checks of Vedette for Prometheus

${origin}

- \`rules/vedette.yml\`: alerts from Vedette's own metrics, heartbeats too.
- \`rules/blackbox.yml\`: alerts from the same API checks as blackbox-exporter makes them. Take one of the
  two, or both: then one failure alerts twice.
- \`rules/*.test.yml\`: what the rules have to do.
- \`blackbox.yml\`: a module per API check. It slows down and fails as the check does; of JSON it sees text,
  so that a name counts wherever it stands.
- \`prometheus.yml\`: the scrapes, to be put into yours.

Production checks have severity critical, staging checks warning. Checks without a channel have no rule:
they page nobody.

    promtool check config prometheus.yml
    promtool test rules rules/vedette.test.yml rules/blackbox.test.yml
    export ${prefix}_KEY=… ${prefix}_ROOT_KEY=…
    envsubst '$${prefix}_KEY $${prefix}_ROOT_KEY' <blackbox.yml >/etc/prometheus/blackbox.yml
`;
}
