/** Checks of other kinds than HTTP, exported, before the programs that the export is for. */
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { createServer } from "node:tls";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ApiCheck } from "#monitor/contract.ts";
import { writeOther } from "#monitor/export/other-kinds.ts";
import { exportPrometheus } from "#monitor/export/prometheus.ts";
import { createSelfSigned } from "../../../support/http/self-signed.ts";
import { writeFiles } from "../../../support/monitor/exported.ts";
import { standardDefinitions } from "../../../support/monitor/standard-definitions.ts";
import { startEveryKind } from "../../../support/servers/every-kind.ts";
import { hasPrograms } from "../../../support/servers/programs.ts";
import { probe, promtool, startBlackbox } from "../../../support/servers/prometheus.ts";
import { tempDir } from "../../../support/temp-dir.ts";

function writeExport(apiChecks: ApiCheck[]): string {
  const directory = tempDir();
  const settings = { secretPrefix: "ACME", metricsAddress: "127.0.0.1:7072" };
  const definitions = { ...standardDefinitions, apiChecks };
  const files = exportPrometheus(definitions, { ...settings, baseUrl: "https://api.example.com" });
  writeFiles(directory, files);
  return directory;
}

function testRules(directory: string) {
  const tests = readdirSync(path.join(directory, "rules")).filter((name) =>
    /\.test\.yml$/.test(name),
  );
  return promtool(["test", "rules", ...tests.map((name) => `rules/${name}`)], directory);
}

describe.skipIf(!hasPrograms("promtool"))("before promtool", () => {
  it.each([10, 120, 300, 86_400])(
    "the rules of every kind, each %i seconds, do what their tests say",
    async (frequencySeconds) => {
      const { checks } = await startEveryKind();
      const directory = writeExport(checks.map((check) => ({ ...check, frequencySeconds })));

      const config = promtool(["check", "config", "--lint-fatal", "prometheus.yml"], directory);
      const tests = testRules(directory);

      expect(config.output).not.toContain("FAILED");
      expect(tests.output).not.toContain("FAILED");
      expect([config.code, tests.code]).toEqual([0, 0]);
    },
  );

  it("the tests detect a rule of a certificate that alerts a day too late", async () => {
    const { checks } = await startEveryKind();
    const directory = writeExport(checks);
    const rules = path.join(directory, "rules");
    for (const name of readdirSync(rules).filter((file) => /^[^.]+\.yml$/.test(file))) {
      const text = readFileSync(path.join(rules, name), "utf8");
      writeFileSync(path.join(rules, name), text.replace(`< ${7 * 86_400}`, `< ${6 * 86_400}`));
    }

    expect(testRules(directory).output).toContain("VedetteProbeCertificateEnds");
  });
});

describe.skipIf(!hasPrograms("prometheus-blackbox-exporter"))("before blackbox-exporter", () => {
  const targetOf = (check: ApiCheck) => writeOther(check, (text) => text)?.target ?? "";

  it("probes of TCP and DNS succeed while the server is well, and fail when it is not", async () => {
    const kinds = await startEveryKind();
    const address = await startBlackbox(writeExport(kinds.checks));
    const probed = kinds.checks.filter(({ id }) => /^of-(?:tcp|dns)$/.test(id));
    const probeAll = () =>
      Promise.all(
        probed.map((check) => probe(address, { module: check.id, target: targetOf(check) })),
      );

    const well = await probeAll();
    kinds.fail();
    const failing = await probeAll();

    expect(well).toEqual([true, true]);
    expect(failing).toEqual([false, false]);
  });

  it.each([
    ["shop.example.com", true],
    ["other.example.com", false],
  ])("a probe of a certificate for %s: %s", async (name, isGood) => {
    const { checks } = await startEveryKind();
    const { key, cert } = await createSelfSigned([name], new Date(Date.now() + 86_400_000));
    const server = createServer({ key, cert }).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const tls = checks
      .filter((check) => check.kind === "tls")
      .map((check) => ({ ...check, port, servername: "shop.example.com" }));
    const directory = writeExport(tls);
    const trusted = path.join(directory, "trusted.pem");
    writeFileSync(trusted, cert);
    vi.stubEnv("SSL_CERT_FILE", trusted);
    onTestFinished(() => void vi.unstubAllEnvs());

    const address = await startBlackbox(directory);
    const succeeds = await probe(address, { module: "of-tls", target: `127.0.0.1:${port}` });

    expect(succeeds).toBe(isGood);
  });
});
