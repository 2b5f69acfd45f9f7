/** A runner at a further location connects to none of the services that control names. */
import { once } from "node:events";
import { createServer as createHttp } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { startMonitorRunner } from "#app/runner.ts";
import { readConfig } from "#config.ts";
import { createLog } from "#kernel/log.ts";
import type { CheckResult } from "#monitor/contract.ts";
import { anApiCheck } from "../../../support/monitor/check-builders.ts";
import { waitFor } from "../../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });

/** Control with checks of TCP at loopback, and the reasons that the runner reports. */
async function startControl(workOf: (own: number) => { ports: number[]; services?: object[] }) {
  const reported: CheckResult[] = [];
  const server = createHttp(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.url === "/runner/report") {
      reported.push(...JSON.parse(Buffer.concat(chunks).toString()).results);
    }
    const { ports, services } = workOf(port);
    const { channel: _, directChannels: _others, dependsOn: _on, ...common } = anApiCheck();
    const checks = ports.map((at) => ({
      ...{ ...common, id: `at-${at}`, kind: "tcp", host: "localhost", port: at },
      ...{ send: null, expect: null, frequencySeconds: 10 },
    }));
    const work = {
      location: "fra",
      now_ms: Date.now(),
      base_url: "http://127.0.0.1:9",
      services: [],
      checks,
    };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ ...work, services }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const settings = { control: `http://127.0.0.1:${port}`, token: "t", location: "fra", log };
  const runner = await startMonitorRunner(readConfig({ environment: {} }), settings);
  onTestFinished(() => runner.stop());
  return {
    port,
    resultAt: (at: number) =>
      waitFor(() => reported.find(({ checkId }) => checkId === `at-${at}`), {
        withinMs: 60_000,
        what: `the result of port ${at}`,
      }),
  };
}

it("a runner connects to what is watched, and not to a service of the installation", async () => {
  const seen: number[] = [];
  const start = async () => {
    const server = createServer((socket) => {
      seen.push((server.address() as AddressInfo).port);
      socket.on("error", () => {}).end();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    return (server.address() as AddressInfo).port;
  };
  const [watched, service] = [await start(), await start()];
  const control = await startControl((own) => ({
    ports: [watched, service, own],
    services: [{ name: "Restate", host: "127.0.0.1", port: service }],
  }));

  const ok = await control.resultAt(watched);
  const refused = await control.resultAt(service);
  const ofControl = await control.resultAt(control.port);

  expect(ok.grade).toBe("ok");
  expect(refused.reason).toContain("one of Vedette's own services (Restate)");
  expect(ofControl.reason).toContain("one of Vedette's own services (control)");
  expect(seen).not.toContain(service);
});
