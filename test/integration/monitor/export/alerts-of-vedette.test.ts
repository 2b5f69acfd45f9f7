/** The exported rules on the metrics of a whole program, in a real Prometheus. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exportPrometheus } from "#monitor/export/prometheus.ts";
import { writeFiles } from "../../../support/monitor/exported.ts";
import { standardDefinitions } from "../../../support/monitor/standard-definitions.ts";
import { runVedette } from "../../../support/program/command.ts";
import { type Program, startProgram } from "../../../support/program/program.ts";
import { hasPrograms } from "../../../support/servers/programs.ts";
import { promtool, startPrometheus } from "../../../support/servers/prometheus.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { waitFor } from "../../../support/wait-for.ts";

const defined = standardDefinitions;

let program: Program;

describe.skipIf(!hasPrograms("prometheus", "promtool"))("the metrics of the program", () => {
  beforeAll(async () => {
    program = await startProgram();
  });

  afterAll(() => program.dispose());

  const vedette = (...args: string[]) => runVedette(args, { VEDETTE_DATA_DIR: program.dataDir });

  const metricsUrl = () => new URL(program.endpoints().metrics ?? "");

  async function watchByPrometheus() {
    const directory = tempDir();
    const metricsAddress = metricsUrl().host;
    writeFiles(directory, exportPrometheus(defined, { metricsAddress }));
    const prometheus = await startPrometheus(directory, { everySeconds: 1 });
    return {
      // Checks of the program's own API may fail on a busy machine.
      failing: async () =>
        (await prometheus.firing()).filter(
          ({ alertname, kind }) => alertname === "VedetteCheckFailed" && kind === "heartbeat",
        ),
    };
  }

  async function register(heartbeat: string): Promise<string> {
    const { stdout } = await vedette("heartbeats", "register", heartbeat, "--json");
    return (JSON.parse(stdout) as { url: string }).url;
  }

  it("are named as Prometheus wants it", async () => {
    const text = await (await fetch(new URL("/metrics", metricsUrl()))).text();

    const { output } = promtool(["check", "metrics"], { cwd: tempDir(), input: text });

    expect(output.split("\n").filter((line) => line.startsWith("vedette_check"))).toEqual([]);
  });

  it("raise the alert of a heartbeat that fails, and end it with its next ping", async () => {
    const url = await register("certificate-workflow-staging");
    const { failing } = await watchByPrometheus();

    await fetch(`${url}/fail`);
    const [labels] = await waitFor(async () => (await failing()).length > 0 && (await failing()), {
      withinMs: 30_000,
      what: "the alert",
    });
    await fetch(url);
    await waitFor(async () => (await failing()).length === 0, {
      withinMs: 30_000,
      what: "the end of the alert",
    });

    expect(labels).toEqual({
      alertname: "VedetteCheckFailed",
      check: "certificate-workflow-staging",
      environment: "staging",
      kind: "heartbeat",
      severity: "warning",
    });
  });

  it("raise none for a check that is muted or pages nobody", async () => {
    const [muted, silent] = [await register("key-refill-staging"), await register("quota-check")];
    const paging = await register("certificate-workflow");
    await vedette("checks", "mute", "key-refill-staging");
    const { failing } = await watchByPrometheus();

    await Promise.all([fetch(`${muted}/fail`), fetch(`${silent}/fail`)]);
    await fetch(`${paging}/fail`);
    const alerts = await waitFor(async () => (await failing()).length > 0 && (await failing()), {
      withinMs: 30_000,
      what: "the alert of the third",
    });

    expect(alerts.map(({ check }) => check)).toEqual(["certificate-workflow"]);
  });
});
