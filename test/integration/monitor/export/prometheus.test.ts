/** The exported rules, probes and scrapes before the programs that they are for. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Definitions } from "#monitor/contract.ts";
import { hostedFrequencies } from "#monitor/export/hosted-limits.ts";
import { exportPrometheus } from "#monitor/export/prometheus.ts";
import { arbitraryDefinitions } from "../../../support/monitor/arbitrary-definitions.ts";
import { anApiCheck } from "../../../support/monitor/check-builders.ts";
import { writeFiles } from "../../../support/monitor/exported.ts";
import { standardDefinitions } from "../../../support/monitor/standard-definitions.ts";
import { hasPrograms } from "../../../support/servers/programs.ts";
import {
  probe,
  promtool,
  startBlackbox,
  startPrometheus,
} from "../../../support/servers/prometheus.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { waitFor } from "../../../support/wait-for.ts";

const defined = standardDefinitions;

function writeExport(definitions: Definitions, baseUrl = "https://api.example.com"): string {
  const directory = tempDir();
  const settings = { baseUrl, secretPrefix: "ACME", metricsAddress: "127.0.0.1:7072" };
  writeFiles(directory, exportPrometheus(definitions, settings));
  return directory;
}

/** The files with rules, or those with their tests. */
function rulesIn(directory: string, ending = /^[^.]+\.yml$/): string[] {
  const files = readdirSync(path.join(directory, "rules")).filter((name) => ending.test(name));
  return files.map((name) => `rules/${name}`);
}

function testRules(directory: string) {
  return promtool(["test", "rules", ...rulesIn(directory, /\.test\.yml$/)], directory);
}

/** As `envsubst` does it. */
function fillSecrets(directory: string): void {
  const file = path.join(directory, "blackbox.yml");
  const text = readFileSync(file, "utf8");
  writeFileSync(
    file,
    text.replace(/\$\{ACME_(\w+)\}/g, (_, name) => `secret of ${name}`),
  );
}

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe.skipIf(!hasPrograms("promtool"))("before promtool", () => {
  it("the configuration with its rules is valid", () => {
    const directory = writeExport(defined);

    const { code, output } = promtool(["check", "config", "prometheus.yml"], directory);

    expect(output).toContain("SUCCESS: 2 rule files found");
    expect(code).toBe(0);
  });

  it("no rule is a duplicate, and none has a fault", () => {
    const directory = writeExport(defined);

    const args = ["check", "rules", "--lint-fatal", ...rulesIn(directory)];
    const { code, output } = promtool(args, directory);

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
    for (const { file, at, alert } of rulesOf(writeExport(defined))) {
      const directory = writeExport(defined);
      const changed = path.join(directory, file);
      const parts = readFileSync(changed, "utf8").split(/(?=^ {6}- alert:)/m);
      writeFileSync(changed, parts.filter((_, i) => i !== at).join(""));

      const { code } = testRules(directory);

      expect(code, `${file} without ${alert}`).not.toBe(0);
    }
  });

  it("a check of every frequency alerts when it has failed as often as it may", () => {
    const apiChecks = hostedFrequencies.map((frequencySeconds, i) =>
      anApiCheck({
        id: `every-${frequencySeconds}`,
        frequencySeconds,
        failedRunThreshold: (i % 5) + 1,
      }),
    );
    const directory = writeExport({ ...defined, apiChecks });

    const { code, output } = testRules(directory);

    expect(output).not.toContain("FAILED");
    expect(code).toBe(0);
  });

  it("whatever else is defined is valid too, and does what its tests say", () => {
    fc.assert(
      fc.property(arbitraryDefinitions, (definitions) => {
        const directory = writeExport(definitions);

        const config = promtool(["check", "config", "--lint-fatal", "prometheus.yml"], directory);
        const tests = testRules(directory);

        expect(config.output).not.toContain("FAILED");
        expect(tests.output).not.toContain("FAILED");
        expect([config.code, tests.code]).toEqual([0, 0]);
      }),
      { numRuns: 10 },
    );
  });
});

/** Every rule of an export by its place in its file, where the head of the file is part 0. */
function rulesOf(directory: string) {
  return rulesIn(directory).flatMap((file) => {
    const text = readFileSync(path.join(directory, file), "utf8");
    const names = [...text.matchAll(/^ {6}- alert: (\w+)$/gm)];
    return names.map(([, alert], i) => ({ file, at: i + 1, alert }));
  });
}

describe.skipIf(!hasPrograms("prometheus-blackbox-exporter"))("before blackbox-exporter", () => {
  const check = anApiCheck({
    headers: { authorization: "Bearer {{ROOT_KEY}}" },
    body: { key: "{{KEY}}" },
    failedAboveMs: 1_000,
    assertions: [
      { source: "status", equals: 200 },
      { source: "header", name: "x-region", contains: "(eu)" },
      { source: "json", path: "data.valid", equals: true },
    ],
  });

  async function probeOf(listener: RequestListener): Promise<boolean> {
    const target = `${await serve(listener)}${check.path}`;
    const directory = writeExport({ ...defined, apiChecks: [check] });
    fillSecrets(directory);
    return probe(await startBlackbox(directory), { module: check.id, target });
  }

  const right = { status: 200, region: "my (eu) west", body: '{"data": {"valid": true}}' };

  const answer =
    ({ status, region, body }: typeof right): RequestListener =>
    (_, outgoing) =>
      void outgoing.writeHead(status, { "x-region": region }).end(body);

  it("the probe sends what the check sends", async () => {
    const seen: string[] = [];

    await probeOf(async (incoming, outgoing) => {
      const { method, url, headers } = incoming;
      let body = "";
      for await (const chunk of incoming) body += chunk;
      seen.push(`${method} ${url}`, `${headers.authorization}`, `${headers["content-type"]}`, body);
      answer(right)(incoming, outgoing);
    });

    expect(seen).toEqual([
      "POST /v2/keys.verifyKey",
      "Bearer secret of ROOT_KEY",
      "application/json",
      '{"key":"secret of KEY"}',
    ]);
  });

  it("the probe of a right answer succeeds", async () => {
    expect(await probeOf(answer(right))).toBe(true);
  });

  it.each([
    ["another status", { ...right, status: 201 }],
    ["a redirect", { ...right, status: 302 }],
    ["another header", { ...right, region: "us" }],
    ["another value", { ...right, body: '{"data": {"valid": false}}' }],
    ["no such value", { ...right, body: "{}" }],
  ])("the probe of %s fails", async (_, wrong) => {
    expect(await probeOf(answer(wrong))).toBe(false);
  });

  it("the probe of an answer that is too slow fails", async () => {
    const slow: RequestListener = (incoming, outgoing) =>
      void setTimeout(() => answer(right)(incoming, outgoing), 1_500);

    expect(await probeOf(slow)).toBe(false);
  });
});

it.skipIf(!hasPrograms("prometheus", "prometheus-blackbox-exporter"))(
  "Prometheus alerts while the API fails, and no longer",
  async () => {
    let status = 200;
    const baseUrl = await serve((_, outgoing) => void outgoing.writeHead(status).end("{}"));
    const check = anApiCheck({ id: "live", method: "GET", path: "/v2/liveness" });
    const directory = writeExport({ ...defined, apiChecks: [check], heartbeats: [] }, baseUrl);
    const blackbox = await startBlackbox(directory);
    const prometheus = await startPrometheus(directory, { blackbox, everySeconds: 1 });
    const failing = async () =>
      (await prometheus.firing()).find(({ alertname }) => alertname === "VedetteProbeFailed");
    const wait = (what: string) => ({ withinMs: 20_000, what });

    status = 500;
    const labels = await waitFor(failing, wait("the alert"));
    status = 200;
    await waitFor(async () => (await failing()) === undefined, wait("the end of the alert"));

    expect(labels).toEqual({
      alertname: "VedetteProbeFailed",
      check: "live",
      environment: "production",
      severity: "critical",
    });
  },
);
