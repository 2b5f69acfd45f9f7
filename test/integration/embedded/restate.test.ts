import { mkdirSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { service } from "@restatedev/restate-sdk";
import getPort from "get-port";
import { expect, it, onTestFinished } from "vitest";
import { loadCredentials, publicIdentity, writeIdentityKey } from "#embedded/credentials.ts";
import { startRestate } from "#embedded/restate.ts";
import { createLog } from "#kernel/log.ts";
import { serveEndpoint } from "#worker/endpoint.ts";
import { registerWorker } from "#worker/register.ts";
import { counter, countOn } from "../../support/servers/counter.ts";
import { startTestRestate } from "../../support/servers/servers.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });

it("comes back on the same ports with its data after a kill -9", async () => {
  const dataDir = tempDir();
  const endpoint = await serveEndpoint({
    host: "127.0.0.1",
    port: 0,
    services: [counter],
    identityKeys: [],
    log,
  });
  onTestFinished(endpoint.stop);
  const server = await startRestate({ dataDir, ingressPort: 0, adminPort: 0, log });
  onTestFinished(server.stop);
  const { adminUrl } = server;
  await registerWorker({ adminUrl, workerUrl: endpoint.url, revision: "test" });
  await countOn(server.ingressUrl);
  const first = server.pid();

  process.kill(first, "SIGKILL");

  await waitFor(() => server.pid() !== first, { withinMs: 30_000, what: "the restart" });
  expect(await countOn(server.ingressUrl)).toBe(2);
});

it("refuses a second installation, which takes nothing over", async () => {
  const ours = service({ name: "vedette.v1.Ours", handlers: { ask: async () => 1 } });
  const settings = { host: "127.0.0.1", port: 0, identityKeys: [], log };
  const endpoint = await serveEndpoint({ ...settings, services: [ours] });
  onTestFinished(endpoint.stop);
  const { adminUrl, stop } = await startTestRestate({ services: [ours] });
  onTestFinished(stop);
  const register = (installation: string) =>
    registerWorker({ adminUrl, workerUrl: endpoint.url, revision: installation, installation });
  await register("first");

  await expect(register("second")).rejects.toThrow("serves the installation first");

  const answer = await fetch(`${adminUrl}/deployments`);
  const { deployments } = (await answer.json()) as { deployments: { uri: string }[] };
  expect(deployments.map(({ uri }) => uri)).not.toContain(`${endpoint.url}/rev-second`);
  await register("first");
});

it.each([
  ["a data directory", ""],
  ["one with a path too long for sockets", `${"x".repeat(60)}/${"y".repeat(60)}`],
])("listens on sockets in %s, and comes back there after a kill -9", async (_which, below) => {
  const dataDir = path.join(tempDir(), below);
  mkdirSync(dataDir, { recursive: true });
  const services = [counter];
  const where = { host: "127.0.0.1", port: 0, identityKeys: [] };
  const endpoint = await serveEndpoint({ ...where, services, log });
  onTestFinished(endpoint.stop);
  const server = await startRestate({ dataDir, log });
  onTestFinished(server.stop);
  const { adminUrl } = server;
  await registerWorker({
    adminUrl,
    workerUrl: endpoint.url,
    revision: "test",
    installation: "test",
  });
  await countOn(server.ingressUrl);
  const first = server.pid();

  process.kill(first, "SIGKILL");

  await waitFor(() => server.pid() !== first, { withinMs: 60_000, what: "the restart" });
  expect(server.ingressUrl).toMatch(/^http\+unix:/);
  expect(await countOn(server.ingressUrl)).toBe(2);
});

it("stays down after a kill in a test until it is started again", async () => {
  const restate = await startTestRestate({ services: [counter] });
  onTestFinished(restate.stop);
  await countOn(restate.ingressUrl);

  await restate.kill9();
  const whileDown = await countOn(restate.ingressUrl).catch((error: Error) => error);
  await restate.restart();

  expect(whileDown).toBeInstanceOf(Error);
  expect(await countOn(restate.ingressUrl)).toBe(2);
});

it("signs its requests to the worker with the identity key", async () => {
  const dataDir = tempDir();
  const credentials = loadCredentials(dataDir);
  const endpoint = await serveEndpoint({
    host: "127.0.0.1",
    port: 0,
    services: [counter],
    identityKeys: [publicIdentity(credentials)],
    log,
  });
  onTestFinished(endpoint.stop);
  const identityKeyFile = writeIdentityKey(dataDir, credentials);
  const ports = { ingressPort: 0, adminPort: 0 };
  const server = await startRestate({ dataDir, ...ports, identityKeyFile, log });
  onTestFinished(server.stop);
  const { adminUrl } = server;
  await registerWorker({ adminUrl, workerUrl: endpoint.url, revision: "test" });

  const count = await countOn(server.ingressUrl);

  expect(count).toBe(1);
});

it.each([
  ["ingressPort", "restate.ingress_port"],
  ["adminPort", "restate.admin_port"],
])("says that its %s is taken", async (name, setting) => {
  const port = await getPort({ host: "127.0.0.1" });
  const other = createServer().listen(port, "127.0.0.1");
  onTestFinished(() => void other.close());
  const ports = { ingressPort: 0, adminPort: 0, [name]: port };

  const starting = startRestate({ dataDir: tempDir(), ...ports, log });

  await expect(starting).rejects.toThrow(
    `port ${port} is taken by another program; end it or set ${setting} (0 takes a free port)`,
  );
});

it("says why it did not start, with the server's last output", async () => {
  const environment = { RESTATE_DEFAULT_NUM_PARTITIONS: "many" };
  const ports = { ingressPort: 0, adminPort: 0 };

  const starting = startRestate({ dataDir: tempDir(), ...ports, environment, log });

  await expect(starting).rejects.toThrow(/^restate did not start: it exited with code .*many/s);
});
