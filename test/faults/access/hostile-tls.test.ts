/** Servers that make their clients work while they agree on what to speak, and afterwards. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { postJson } from "#alerts/channels/post.ts";
import { createReach } from "#kernel/reach.ts";
import { probeTls } from "#monitor/probe/tls.ts";
import { createSelfSigned, rsa } from "../../support/http/self-signed.ts";

const program = fileURLToPath(
  new URL("../../support/servers/hostile-tls-server.ts", import.meta.url),
);

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

it("a receiver of a webhook cannot go on in a session of HTTP/2", async () => {
  const { port, cert } = await startServer("http2");
  const before = getCACertificates("default");
  onTestFinished(() => setDefaultCACertificates(before));
  setDefaultCACertificates([cert]);
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
