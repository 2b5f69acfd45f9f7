/** Servers that make their clients work while they agree on what to speak, and afterwards. */
import { type ChildProcess, execFile as execFileNow, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { postJson } from "#alerts/channels/post.ts";
import { createCluster } from "#fleet/drivers/kubernetes/client.ts";
import { request } from "#kernel/http.ts";
import { createReach } from "#kernel/reach.ts";
import { probeTls } from "#monitor/kinds/tls.ts";
import { createSelfSigned, rsa } from "../../support/http/self-signed.ts";

const program = fileURLToPath(
  new URL("../../support/servers/hostile-tls-server.ts", import.meta.url),
);

const execFile = promisify(execFileNow);

async function startServer(kind: "dhe" | "http2") {
  const endsAt = new Date(Date.now() + 20.5 * 86_400_000);
  const { key, cert } = await createSelfSigned(["localhost"], endsAt, rsa);
  const child: ChildProcess = spawn(process.execPath, [program, kind, key, cert]);
  onTestFinished(() => void child.kill());
  const [port] = await once(child.stdout as NodeJS.ReadableStream, "data");
  return { port: Number(port), cert };
}

it("a server's numbers of a key exchange that take seconds are not computed with", async () => {
  const { port, cert: ca } = await startServer("dhe");
  const target = { host: "127.0.0.1", port, servername: "localhost" };

  const { outcome } = await probeTls(target, { timeoutMs: 20_000, ca });

  expect(outcome).toMatchObject({ reason: expect.stringContaining("ALERT_HANDSHAKE_FAILURE") });
});

function trust(cert: string): void {
  const before = getCACertificates("default");
  onTestFinished(() => setDefaultCACertificates(before));
  setDefaultCACertificates([cert]);
}

/** A proxy that leads each connection to where it is asked to. */
async function startProxy() {
  const server = createServer((_request, answer) => void answer.end("by the proxy"));
  let tunnels = 0;
  server.on("connect", ({ url = "" }, socket) => {
    tunnels += 1;
    const target = connect(Number(url.split(":")[1]), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.pipe(target).pipe(socket);
    });
    for (const end of [socket, target]) end.on("error", () => {});
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, tunnels: () => tunnels };
}

it("a system that is asked plainly cannot go on in a session of HTTP/2", async () => {
  const { port, cert } = await startServer("http2");
  trust(cert);

  const answer = await request(`https://localhost:${port}/`, {
    signal: AbortSignal.timeout(5_000),
  });

  expect(await answer.body.text()).toBe("ok");
});

it("a system that is asked by fetch cannot go on in a session of HTTP/2", async () => {
  const { port, cert } = await startServer("http2");
  trust(cert);

  const answer = await fetch(`https://localhost:${port}/`, { signal: AbortSignal.timeout(5_000) });

  expect(await answer.text()).toBe("ok");
});

it.each([false, true])("a cluster cannot (by a proxy: %s)", async (isByProxy) => {
  const { port, cert } = await startServer("http2");
  const proxy = await startProxy();
  const identities = { current: async () => ({ ca: Buffer.from(cert) }), refuse: () => {} };
  const access = {
    server: `https://localhost:${port}`,
    ...(isByProxy && { proxyUrl: proxy.url, servername: "localhost" }),
  };
  const cluster = createCluster(access as never, identities as never);
  onTestFinished(() => cluster.stop());
  const asked = { path: "/", limitMs: 5_000, signal: new AbortController().signal };

  const lines = cluster.stream({ ...asked, maxLineBytes: 100 }).next();

  expect(await lines).toEqual({ value: undefined, done: true });
  expect(proxy.tunnels()).toBe(isByProxy ? 1 : 0);
});

it.each(["request", "fetch"])("a proxy of the environment gets no %s", async (name) => {
  const proxy = await startProxy();
  const server = createServer((_request, answer) => void answer.end("by the server"));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const http = new URL("../../../src/kernel/http.ts", import.meta.url).href;
  const code = `const { request, fetch } = await import("${http}");
    const answer = await ${name}("http://127.0.0.1:${port}/");
    console.log(await ("body" in answer && answer.body.text ? answer.body : answer).text());`;
  const env = { PATH: process.env["PATH"], NODE_USE_ENV_PROXY: "1", HTTP_PROXY: proxy.url };

  const { stdout } = await execFile(process.execPath, ["--input-type=module", "-e", code], { env });

  expect(stdout).toBe("by the server\n");
});

it("a receiver of a webhook cannot go on in a session of HTTP/2", async () => {
  const { port, cert } = await startServer("http2");
  trust(cert);
  const post = { body: "{}", timeoutMs: 5_000, reach: createReach() };

  const answer = await postJson(new URL(`https://localhost:${port}/`), post);

  expect(answer).toMatchObject({ status: 200, body: "ok" });
});

it("a server with a usual key exchange is checked", async () => {
  const { port, cert: ca } = await startServer("http2");
  const target = { host: "127.0.0.1", port, servername: "localhost" };

  const observed = await probeTls(target, { timeoutMs: 20_000, ca });

  expect(observed).toMatchObject({ tlsDaysLeft: 20, outcome: { kind: "certificate" } });
});
