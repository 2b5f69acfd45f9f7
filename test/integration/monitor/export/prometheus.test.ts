/** The exported rules and scrape before promtool. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { Definitions } from "#monitor/contract.ts";
import { exportPrometheus } from "#monitor/export/prometheus.ts";
import { arbitraryDefinitions } from "../../../support/monitor/arbitrary-definitions.ts";
import { writeFiles } from "../../../support/monitor/exported.ts";
import { monitorTests } from "../../../support/monitor/rule-tests.ts";
import { standardDefinitions } from "../../../support/monitor/standard-definitions.ts";
import { hasPrograms } from "../../../support/servers/programs.ts";
import { promtool } from "../../../support/servers/prometheus.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const defined = standardDefinitions;
const rulesFile = "rules/vedette.yml";
const testsFile = "rules/vedette.test.yml";

/** The export, and tests of its rules beside them. */
function writeExport(definitions: Definitions): string {
  const directory = tempDir();
  const files = exportPrometheus(definitions, { metricsAddress: "127.0.0.1:7072" });
  const { groups } = parse(files.find(({ path: name }) => name === rulesFile)?.text ?? "");
  const tests = monitorTests(definitions, groups[0].rules);
  const text = JSON.stringify({ rule_files: [path.basename(rulesFile)], tests });
  writeFiles(directory, [...files, { path: testsFile, text }]);
  return directory;
}

function testRules(directory: string) {
  return promtool(["test", "rules", testsFile], { cwd: directory });
}

describe.skipIf(!hasPrograms("promtool"))("before promtool", () => {
  it("the configuration with its rules is valid", () => {
    const directory = writeExport(defined);

    const { code, output } = promtool(["check", "config", "prometheus.yml"], { cwd: directory });

    expect(output).toContain("SUCCESS: 1 rule files found");
    expect(code).toBe(0);
  });

  it("no rule is a duplicate, and none has a fault", () => {
    const directory = writeExport(defined);

    const args = ["check", "rules", "--lint-fatal", rulesFile];
    const { code, output } = promtool(args, { cwd: directory });

    expect(output).not.toContain("FAILED");
    expect(code).toBe(0);
  });

  it("the rules do what their tests say", () => {
    const directory = writeExport(defined);

    const { code, output } = testRules(directory);

    expect(output).not.toContain("FAILED");
    expect(code).toBe(0);
  });

  it("the tests detect each rule that is removed", () => {
    const text = readFileSync(path.join(writeExport(defined), rulesFile), "utf8");
    const parts = text.split(/(?=^ {6}- alert:)/m);
    for (const [at, rule] of parts.entries()) {
      if (at === 0) continue;
      const directory = writeExport(defined);
      writeFileSync(path.join(directory, rulesFile), parts.filter((_, i) => i !== at).join(""));

      const { code } = testRules(directory);

      expect(code, `without ${rule}`).not.toBe(0);
    }
  });

  it("whatever else is defined is valid too, and does what its tests say", () => {
    fc.assert(
      fc.property(arbitraryDefinitions, (definitions) => {
        const directory = writeExport(definitions);

        const config = promtool(["check", "config", "--lint-fatal", "prometheus.yml"], {
          cwd: directory,
        });
        const tests = testRules(directory);

        expect(config.output).not.toContain("FAILED");
        expect(tests.output).not.toContain("FAILED");
        expect([config.code, tests.code]).toEqual([0, 0]);
      }),
      { numRuns: 10 },
    );
  });
});
