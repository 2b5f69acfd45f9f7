/** Pipelined requests: each costs the API a verification, even without a valid key. */
import { expect, it } from "vitest";
import { dial, startEcho, startSentinel } from "../../support/rollout/sentinel.ts";

const ask = (path: string, key: string) =>
  `GET ${path} HTTP/1.1\r\nHost: s\r\nAuthorization: Bearer ${key}\r\n\r\n`;

it("closes the connection of a caller that pipelines a thousand requests, and verifies few of them", async () => {
  const sentinel = await startSentinel({ upstreamUrl: (await startEcho()).url });
  const connection = await dial(sentinel.url);

  connection.send(ask("/", "bad").repeat(1_000));
  await connection.closed();

  expect(sentinel.clients.length).toBeLessThanOrEqual(32);
});

it("answers a caller that pipelines a few requests, repeatedly on one connection", async () => {
  const { url } = await startEcho();
  const connection = await dial((await startSentinel({ upstreamUrl: url })).url);

  for (const round of [1, 2, 3]) {
    const paths = Array.from({ length: 20 }, (_, i) => `/${round}-${i}`);
    connection.send(paths.map((path) => ask(path, "good-1")).join(""));
    await connection.received(new RegExp(`"url":"/${round}-19"[\\s\\S]*\\}`));
  }

  const answered = [...connection.state.text.matchAll(/"url":"\/(\d-\d+)"/g)];
  expect(answered).toHaveLength(60);
});

it("answers a pipelined WebSocket upgrade in order, and continues to serve", async () => {
  const { url } = await startEcho();
  const sentinel = await startSentinel({ upstreamUrl: url });
  const connection = await dial(sentinel.url);
  const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: abc\r\n\r\n";

  connection.send(ask("/a", "good-1") + ask("/ws", "good-1").replace(/\r\n$/, upgrade));
  await connection.received(/"url":"\/ws"/);

  const answered = [...connection.state.text.matchAll(/"url":"(\/\w+)"/g)].map(([, path]) => path);
  expect(answered).toEqual(["/a", "/ws"]);
});
