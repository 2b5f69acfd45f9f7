/** The rules and the dashboard of deploy/ before a real Prometheus that scrapes the real program. */
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { stringify } from "yaml";
import { runVedette } from "../../support/program/command.ts";
import { startProgram } from "../../support/program/program.ts";
import { findNewerTools } from "../../support/servers/newer-tools.ts";
import { hasNeeded, hasPrograms } from "../../support/servers/programs.ts";
import { promtool, startPrometheus } from "../../support/servers/prometheus.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const rules = path.resolve("deploy/prometheus/vedette.yml");

/** A directory with the configuration that docs/metrics.md has, for a program at this address. */
function writeConfig(metrics: string): string {
  const directory = tempDir();
  copyFileSync(rules, path.join(directory, "vedette.yml"));
  const scrape = { job_name: "vedette", static_configs: [{ targets: [new URL(metrics).host] }] };
  const config = {
    global: { evaluation_interval: "1s" },
    rule_files: ["vedette.yml"],
    scrape_configs: [scrape],
  };
  writeFileSync(path.join(directory, "prometheus.yml"), stringify(config));
  return directory;
}

type Dashboard = { panels: { title: string; targets?: { expr: string }[] }[] };

/** The expressions of the dashboard, as Grafana sends them. */
function dashboardQueries(): { title: string; expr: string }[] {
  const text = readFileSync("deploy/grafana/vedette.json", "utf8");
  return (JSON.parse(text) as Dashboard).panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({
      title,
      expr: expr
        .replaceAll("$__rate_interval", "1m")
        .replaceAll("$job", ".*")
        .replaceAll("$fleet", "singleton"),
    })),
  );
}

/** Panels that have values as soon as a rollout has ended. */
const ofRollout = [
  "State",
  "Wave",
  "Since the start",
  "Done and failed",
  "Sentinels by outcome",
  "In flight",
  "Retries",
  "Duration of deploys",
  "Failures by reason",
  "Sentinels by health",
  "Dependencies",
];

const { programs: newer } = await findNewerTools();

describe.each([
  { version: "installed", isThere: hasPrograms("promtool", "prometheus"), programs: "" },
  {
    version: "newer",
    isThere: hasNeeded({ "Prometheus 3.5": newer !== undefined }),
    programs: newer,
  },
])("deploy/prometheus/vedette.yml, $version", ({ isThere, programs }) => {
  it.runIf(isThere)("does what its tests say", () => {
    const { code, output } = promtool(["test", "rules", "vedette.test.yml"], {
      ...{ cwd: import.meta.dirname, programs },
    });

    expect(output).toContain("SUCCESS");
    expect(code).toBe(0);
  });

  it.runIf(isThere)("is loaded, and every panel of the dashboard is answered", async () => {
    const program = await startProgram({ VEDETTE_FLEET__PROCESS__SIZE: "4" });
    onTestFinished(program.dispose);
    const rollout = ["rollout", "start", "registry.example.com/vedette/sentinel:v2", "--wait"];
    const { metrics = "" } = program.endpoints();
    const prometheus = await startPrometheus(writeConfig(metrics), { everySeconds: 1, programs });

    const { code } = await runVedette(rollout, { VEDETTE_DATA_DIR: program.dataDir });
    const done = 'vedette:rollout_sentinels:done_ratio{job="vedette"} == 1';
    await waitFor(async () => (await prometheus.query(done)).length === 1, {
      withinMs: 30_000,
      what: "the rule to record that all are done",
    });

    expect(code).toBe(0);
    const queries = dashboardQueries();
    for (const { expr } of queries) await prometheus.query(expr);
    for (const wanted of ofRollout) {
      const exprs = queries.filter(({ title }) => title === wanted).map(({ expr }) => expr);
      expect(exprs.length, wanted).toBeGreaterThan(0);
      const hasValues = async (expr: string) => (await prometheus.query(expr)).length > 0;
      await waitFor(async () => (await Promise.all(exprs.map(hasValues))).every(Boolean), {
        withinMs: 10_000,
        what: `the panel "${wanted}" to have values`,
      });
    }
    expect(
      await prometheus.query('vedette_fleet_members{fleet="singleton",deploy_status="ready"} == 4'),
    ).toHaveLength(1);
    expect(await prometheus.firing()).toEqual([]);
  });
});
