/** A sentinel's timeouts, shortened for these tests. */
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { createCounters } from "#sentinel/counters.ts";
import { createForward } from "#sentinel/forward.ts";
import { createGateway } from "#sentinel/gateway.ts";
import { createTunnels } from "#sentinel/tunnel.ts";
import { dial, exchange, serveBytes, serveHttp } from "../../support/rollout/sentinel.ts";

const head = (...headers: string[]) =>
  ["GET / HTTP/1.1", "Host: s", "Authorization: Bearer good", ...headers, "", ""].join("\r\n");

const upgrade = [
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

const shortMs = 300;
const longMs = 600_000;

async function serveGateway(upstreamUrl: string, tunnel: { silenceMs: number; lifeMs: number }) {
  const gateway = createGateway({
    verifyKey: async () => ({ keyId: "key_1" }),
    upstream: {
      forward: createForward(upstreamUrl, "sentinel-01", shortMs),
      tunnels: createTunnels(upstreamUrl, "sentinel-01", { handshakeMs: shortMs, ...tunnel }),
    },
    health: () => ({ id: "sentinel-01", region: "local", image: "i:v1", status: "healthy" }),
    counters: createCounters(),
    trustedProxies: [],
  });
  gateway.server.listen(0, "127.0.0.1");
  await once(gateway.server, "listening");
  onTestFinished(() => {
    gateway.server.closeAllConnections();
    gateway.server.close();
  });
  return `http://127.0.0.1:${(gateway.server.address() as AddressInfo).port}`;
}

const unlimited = { silenceMs: longMs, lifeMs: longMs };

it.each([
  ["a request", head("Connection: close")],
  ["an upgrade", head(...upgrade)],
])("answers 504 to %s that the upstream does not answer", async (_, text) => {
  const url = await serveGateway(await serveBytes(() => {}), unlimited);

  expect(await exchange(url, text)).toMatch(/^HTTP\/1\.1 504 /);
});

it("cuts off an answer in which the upstream stops sending", async () => {
  const upstreamUrl = await serveBytes((socket) => {
    socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"));
  });
  const url = await serveGateway(upstreamUrl, unlimited);

  expect(await exchange(url, head())).toMatch(/half$/);
});

it.each([
  ["in which nobody says anything", { silenceMs: shortMs, lifeMs: longMs }],
  ["that has lived long enough", { silenceMs: longMs, lifeMs: shortMs }],
])("ends a WebSocket %s at both ends", async (_, limits) => {
  const ends: Promise<unknown>[] = [];
  const upstreamUrl = await serveHttp(
    (_, outgoing) => outgoing.end(),
    (server) => {
      server.on("upgrade", (_, socket: Socket) => {
        socket.resume().once("end", () => socket.end());
        ends.push(once(socket, "close"));
        socket.write(
          "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        );
      });
    },
  );
  const url = await serveGateway(upstreamUrl, limits);
  const caller = await dial(url);

  caller.send(head(...upgrade));
  await caller.received(/^HTTP\/1\.1 101 /);

  await caller.closed();
  await Promise.all(ends);
  expect(ends).toHaveLength(1);
});
