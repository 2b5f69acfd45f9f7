/** Servers that say more than anybody has to keep the program busy neither while they are asked nor afterwards. */
import { spawn } from "node:child_process";
import { webcrypto } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createServer } from "node:tls";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { createSendToChannel } from "#alerts/channels/send.ts";
import { createCluster } from "#fleet/drivers/kubernetes/client.ts";
import { probeTls } from "#monitor/kinds/tls.ts";
import { buildMessage, emailChannel } from "../../support/alerts/message-builders.ts";
import { type Issued, issue, privateKeyOf } from "../../support/http/certificate-chain.ts";

const mailServer = fileURLToPath(
  new URL("../../support/servers/endless-mail-server.ts", import.meta.url),
);

/** In a process of its own, so that only our own work is measured. */
async function startMailServer(said: string): Promise<number> {
  const child = spawn(process.execPath, [mailServer, JSON.stringify(said)]);
  onTestFinished(() => void child.kill());
  const [port] = await once(child.stdout, "data");
  return Number(port);
}

/** How long this process has to stand still at most, in milliseconds, from now to the end of `work` and a bit more. */
async function standstillMs(work: () => Promise<unknown>): Promise<number> {
  const delays = monitorEventLoopDelay({ resolution: 10 });
  delays.enable();
  await work();
  const until = performance.now() + 500;
  while (performance.now() < until) await new Promise(setImmediate);
  delays.disable();
  return delays.max / 1e6;
}

it.each([
  ["blank lines", "\r\n".repeat(32_000)],
  ["answers", "250 ok\r\n".repeat(8_000)],
  ["one answer", "250-ok\r\n".repeat(8_000)],
  ["one line", "a".repeat(65_536)],
])("a mail server's %s without end are cut off", async (_, said) => {
  const port = await startMailServer(said);
  const send = createSendToChannel({
    readSecret: () => undefined,
    ...{ timeoutMs: 5_000, nowMs: Date.now },
  });
  const channel = { ...emailChannel, url: `smtp://127.0.0.1:${port}`, tls: "optional" as const };
  const { secret: _secret, ...open } = channel;
  const startedMs = performance.now();

  const stoodStillMs = await standstillMs(async () => {
    expect(await send(open, buildMessage())).toMatchObject({ kind: "retry" });
  });

  expect(performance.now() - startedMs).toBeLessThan(4_000);
  expect(stoodStillMs).toBeLessThan(1_000);
});

const slowKeys = () =>
  webcrypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-521" }, true, ["sign", "verify"]);

it("a server's chain of fifty issuers of one name and slow keys takes no time", async () => {
  const issuers: Issued[] = [];
  for (let count = 0; count < 49; count += 1) {
    const issuer = issuers.at(-1);
    const keys = await slowKeys();
    issuers.push(await issue({ name: "Same", days: 50, keys, ...(issuer && { issuer }) }));
  }
  const leaf = await issue({
    name: "Same",
    days: 20,
    isServer: true,
    issuer: issuers.at(-1) as Issued,
  });
  const chain = [leaf, ...issuers.toReversed()].map(({ pem }) => pem).join("\n");
  const server = createServer({ cert: chain, key: await privateKeyOf(leaf) });
  server.on("tlsClientError", () => {});
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;

  const { durationMs, ...observed } = await probeTls(
    { host: "127.0.0.1", port, servername: "localhost" },
    { timeoutMs: 20_000 },
  );

  expect(observed).toMatchObject({ tlsDaysLeft: 20, outcome: { kind: "error" } });
  expect(durationMs).toBeLessThan(3_000);
});

const slowLine = `const { createServer } = require("node:net");
  const begin = "HTTP/1.1 200 OK\\r\\ntransfer-encoding: chunked\\r\\n\\r\\n";
  const chunks = "10\\r\\naaaaaaaaaaaaaaaa\\r\\n".repeat(3_000);
  const server = createServer((socket) => {
    const talk = () => {
      while (!socket.destroyed && socket.write(chunks));
      if (!socket.destroyed) socket.once("drain", talk);
    };
    socket.on("error", () => {}).once("data", () => { socket.write(begin); talk(); });
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));`;

it("a cluster's line without end, in tiny chunks, is given up on in time", async () => {
  const child = spawn(process.execPath, ["-e", slowLine]);
  onTestFinished(() => void child.kill());
  const [port] = await once(child.stdout, "data");
  const identities = { current: async () => ({}), refuse: () => {} };
  const cluster = createCluster({ server: `http://127.0.0.1:${Number(port)}` } as never, {
    ...(identities as never as Parameters<typeof createCluster>[1]),
  });
  onTestFinished(() => cluster.stop());
  const { signal } = new AbortController();
  const asked = { path: "/", limitMs: 15_000, signal, maxLineBytes: 4_194_304 };

  const line = cluster.stream(asked).next();

  await expect(line).rejects.toThrow("too long a line");
});
