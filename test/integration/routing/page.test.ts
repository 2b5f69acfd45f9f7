/**
 * From a failed check to the person who is paged, with what runs in between: our metrics, Prometheus
 * with the exported rules, Alertmanager with the exported routes; and a double of the incident service.
 */
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { routes, sources } from "../../support/monitor/standard-definitions.ts";
import { runVedette } from "../../support/program/command.ts";
import { startProgram } from "../../support/program/program.ts";
import {
  apiKey,
  idOf,
  startFakeIncidentSources,
} from "../../support/routing/fake-incident-sources.ts";
import {
  type Daemon,
  isInstalled,
  output,
  startAlertmanager,
  startPrometheus,
} from "../../support/servers/alertmanager.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const metrics = "alertmanager-production";
const onCall = { "Engineering On-Call": "Ada" };
const installed = isInstalled("prometheus", "prometheus-alertmanager", "amtool", "promtool");

/** The API that is watched, and fails. */
async function startTarget() {
  const server = createServer((_, response) => response.writeHead(500).end());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () => new Promise((resolve) => server.close(resolve)),
  };
}

describe.skipIf(!installed)("an alert", () => {
  const dir = makeTempDir();
  const stops: (() => unknown)[] = [dir.remove];
  const started = <Part>(part: Part, stop: (part: Part) => unknown) => {
    stops.push(() => stop(part));
    return part;
  };
  const file = (name: string) => path.join(dir.path, name);
  let target: Awaited<ReturnType<typeof startTarget>>;
  let service: Awaited<ReturnType<typeof startFakeIncidentSources>>;
  let manager: Daemon;
  let settings: Record<string, string>;

  const vedette = async (...args: string[]) => {
    const { code, stdout, stderr } = await runVedette(args, settings);
    if (code !== 0) throw new Error(`vedette ${args.join(" ")}: ${stderr}${stdout}`);
  };
  const registerHeartbeat = async (dataDir: string, check: string): Promise<string> => {
    const environment = { VEDETTE_DATA_DIR: dataDir };
    const { stdout } = await runVedette(["heartbeats", "register", check, "--json"], environment);
    return (JSON.parse(stdout) as { url: string }).url;
  };
  const raise = (...labels: string[]) =>
    output("amtool", ["alert", "add", `--alertmanager.url=${manager.url}`, ...labels]);
  const outcomesOf = (alertname: string) =>
    service.outcomes.filter(({ labels }) => labels["alertname"] === alertname);
  const failures = () => outcomesOf("VedetteCheckFailed");
  const isResolved = (check: string) =>
    service.alerts.some(({ status, labels }) => status === "resolved" && labels["check"] === check);
  const told = (alertname: string) =>
    service.alerts.some(({ labels }) => labels["alertname"] === alertname);
  const waitUntilTold = (alertname: string) =>
    waitFor(() => told(alertname), { withinMs: 60_000, what: `${alertname} to be told of` });

  beforeAll(async () => {
    target = started(await startTarget(), (part) => part.stop());
    service = started(await startFakeIncidentSources({ sources, routes, onCall }), (part) =>
      part.stop(),
    );
    settings = {
      VEDETTE_INCIDENT__URL: service.url,
      VEDETTE_INCIDENT__API_KEY: apiKey,
      VEDETTE_MONITOR__BASE_URL: target.url,
      ...managerSettings("PRODUCTION", metrics),
      ...managerSettings("STAGING", "alertmanager-staging"),
    };
    writeFileSync(file("alertmanager.yml"), "route: { receiver: x }\nreceivers: [{ name: x }]\n");
    manager = started(await startAlertmanager(file("alertmanager.yml")), (part) => part.stop());
    settings["VEDETTE_ALERTMANAGER__PRODUCTION__URL"] = manager.url;
    await vedette("alerts", "rotate", "--environment", "production");
    await vedette("alerts", "rotate", "--environment", "staging");
    await vedette("alerts", "alertmanager", "apply", "--environment", "production");
  });

  afterAll(async () => {
    for (const stop of stops.reverse()) await stop();
  });

  /** Both environments have one alert manager. */
  function managerSettings(environment: string, source: string): Record<string, string> {
    const prefix = `VEDETTE_ALERTMANAGER__${environment}__`;
    return {
      [`${prefix}SOURCE_ID`]: idOf({ name: source }),
      [`${prefix}TOKEN_FILE`]: file(`${source}.token`),
      [`${prefix}CONFIG_FILE`]: file("alertmanager.yml"),
    };
  }

  describe.concurrent("that Alertmanager has", () => {
    it("pages whoever is on call when it is critical", async () => {
      await raise("Critical", "severity=critical");

      await waitUntilTold("Critical");
      expect(outcomesOf("Critical")).toMatchObject([
        { route: "Production Alerts", paged: "Ada", channel: "#alerts" },
      ]);
    });

    it.each([
      ["Warns", ["severity=warning"], "Production Warnings"],
      ["Unlabelled", [], "Unrouted Alerts"],
      ["Staged", ["severity=critical", "environment=staging"], "Staging Notifications"],
    ])("is posted and pages nobody: %s", async (name, labels, taker) => {
      await raise(name, ...labels);

      await waitUntilTold(name);
      expect(outcomesOf(name)).toMatchObject([{ route: taker, paged: null, channel: "#alerts" }]);
    });

    it("reaches the service and nobody when its severity is none that a route takes", async () => {
      await raise("Informs", "severity=info");

      await waitUntilTold("Informs");
      expect(outcomesOf("Informs")).toEqual([]);
    });
  });

  it("pages all the same when the service is away at first", async () => {
    service.refuse({ status: 503 }, { status: 500 });

    await raise("Retried", "severity=critical");

    await waitUntilTold("Retried");
    expect(outcomesOf("Retried")).toMatchObject([{ paged: "Ada" }]);
  });

  it("is sent with a new token as soon as it is rotated, without a restart", async () => {
    service.setToken(metrics, "fresh-token");
    await vedette("alerts", "rotate", "--environment", "production");

    await raise("Rotated", "severity=critical");

    await waitUntilTold("Rotated");
    expect(readFileSync(file(`${metrics}.token`), "utf8")).toBe("fresh-token");
  });

  it("of a failed check goes from our metrics to whoever is on call, and ends with the failure", async () => {
    const program = started(await startProgram(settings), (part) => part.dispose());
    const pingUrl = await registerHeartbeat(program.dataDir, "certificate-workflow");
    await vedette("checks", "export", "prometheus", "--out", file("rules"));
    const { metrics: metricsUrl = "" } = program.endpoints();
    writeFileSync(
      file("prometheus.yml"),
      JSON.stringify({
        global: { scrape_interval: "1s", evaluation_interval: "1s" },
        rule_files: [file("rules/rules/vedette.yml")],
        alerting: {
          alertmanagers: [{ static_configs: [{ targets: [new URL(manager.url).host] }] }],
        },
        scrape_configs: [
          { job_name: "vedette", static_configs: [{ targets: [new URL(metricsUrl).host] }] },
        ],
      }),
    );
    await output("promtool", ["check", "config", file("prometheus.yml")]);
    started(await startPrometheus(file("prometheus.yml")), (part) => part.stop());

    const pageOf = (check: string) =>
      waitFor(() => failures().find(({ labels }) => labels["check"] === check), {
        withinMs: 120_000,
        what: `the page for ${check}`,
      });
    // A heartbeat's end of a failure need not wait for the next minute, as that of an API check does.
    const failedAndRecovered = async (check: string) => {
      await fetch(`${pingUrl}/fail`);
      const page = await pageOf(check);
      await fetch(pingUrl);
      await waitFor(() => isResolved(check), { withinMs: 60_000, what: "the recovery" });
      return page;
    };

    const pages = await Promise.all([
      pageOf("liveness"),
      failedAndRecovered("certificate-workflow"),
    ]);

    expect(pages).toMatchObject(
      ["liveness", "certificate-workflow"].map((check) => ({
        route: "Production Alerts",
        paged: "Ada",
        channel: "#alerts",
        labels: { check, environment: "production", severity: "critical" },
      })),
    );
  });
});
