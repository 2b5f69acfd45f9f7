/** WebSockets through a sentinel, and requests that only look like an upgrade. */
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import {
  dial,
  exchange,
  serveBytes,
  serveHttp,
  startEcho,
  startSentinel,
} from "../../support/rollout/sentinel.ts";
import { waitFor } from "../../support/wait-for.ts";

const upgrade = [
  "Connection: keep-alive, Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

const ask = (headers = upgrade, key = "good-1", start = "GET /live?x=1 HTTP/1.1") =>
  [start, "Host: s", `Authorization: Bearer ${key}`, ...headers, "", ""].join("\r\n");

const accepted = [
  "HTTP/1.1 101 Switching Protocols",
  "Upgrade: websocket",
  "Connection: Upgrade",
  "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
  "",
  "",
].join("\r\n");

/** An upstream that accepts upgrades and echoes what it receives. */
async function startLive(greeting = "") {
  const sockets: Socket[] = [];
  const requests: { url: string | undefined; headers: object }[] = [];
  const url = await serveHttp(
    (_, outgoing) => outgoing.end("no tunnel"),
    (server) => {
      server.on("upgrade", ({ url, headers }, socket: Socket, head) => {
        sockets.push(socket);
        requests.push({ url, headers });
        socket.on("error", () => {});
        socket.write(accepted + greeting);
        if (head.length > 0) socket.write(head);
        socket.pipe(socket);
      });
    },
  );
  return { url, sockets, requests };
}

async function openTunnel() {
  const upstream = await startLive("hello ");
  const sentinel = await startSentinel({ upstreamUrl: upstream.url });
  const caller = await dial(sentinel.url);
  caller.send(ask());
  await caller.received(/^HTTP\/1\.1 101 [\s\S]*\r\n\r\nhello /);
  return { upstream, sentinel, caller, far: upstream.sockets[0] as Socket };
}

describe("a WebSocket", () => {
  it("passes bytes both ways when its key is valid", async () => {
    const { upstream, caller } = await openTunnel();

    caller.send("ping");
    await caller.received(/hello ping$/);

    expect(caller.state.text).toMatch(/sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/i);
    expect(upstream.requests).toMatchObject([
      {
        url: "/live?x=1",
        headers: {
          upgrade: "websocket",
          "sec-websocket-version": "13",
          "x-vedette-key-id": "key_1",
        },
      },
    ]);
    expect(upstream.requests[0]?.headers).not.toHaveProperty("authorization");
  });

  it("carries what the caller sends before the upgrade is answered", async () => {
    const upstream = await startLive();
    const sentinel = await startSentinel({ upstreamUrl: upstream.url });
    const caller = await dial(sentinel.url);

    caller.send(`${ask()}early`);

    await caller.received(/\r\n\r\nearly$/);
  });

  it("carries megabytes without loss", async () => {
    const { caller } = await openTunnel();
    const payload = "0123456789".repeat(500_000);

    caller.send(payload);
    await waitFor(() => caller.state.text.length > payload.length, {
      withinMs: 20_000,
      what: "all of it",
    });

    await caller.received(/9$/);
    expect(caller.state.text.split("hello ")[1]).toBe(payload);
  });

  it.each([
    ["bad", 401],
    ["", 401],
  ])("is refused for the key %j", async (key, status) => {
    const upstream = await startLive();
    const sentinel = await startSentinel({ upstreamUrl: upstream.url });

    const answer = await exchange(sentinel.url, ask(upgrade, key));

    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(upstream.requests).toEqual([]);
  });

  it("ends with its caller", async () => {
    const { caller, far } = await openTunnel();

    caller.destroy();

    await waitFor(() => far.destroyed, { withinMs: 10_000, what: "the upstream's end" });
  });

  it("ends with its upstream", async () => {
    const { caller, far } = await openTunnel();

    far.destroy();

    await caller.closed();
  });

  it("forwards the last bytes of the side that ends it", async () => {
    const { caller, far } = await openTunnel();

    far.end("goodbye");

    await caller.received(/goodbye$/);
    caller.end();
    await caller.closed();
  });

  it("ends when its sentinel is replaced, without a wait", async () => {
    const { sentinel, caller, far } = await openTunnel();

    sentinel.signal("SIGTERM");

    await caller.closed();
    await waitFor(() => far.destroyed, { withinMs: 10_000, what: "the upstream's end" });
  });

  it("gets the answer of an upstream that refuses the upgrade", async () => {
    const upstream = await startEcho();
    const sentinel = await startSentinel({ upstreamUrl: upstream.url });

    const answer = await exchange(sentinel.url, ask());

    expect(answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*"url":"\/live\?x=1"/);
  });
});

it("answers 502 to an upgrade that its upstream refuses in a coding of its own", async () => {
  const upstreamUrl = await serveBytes((socket) => {
    socket.once("data", () => {
      socket.end("HTTP/1.1 403 Forbidden\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n");
    });
  });
  const sentinel = await startSentinel({ upstreamUrl });

  expect(await exchange(sentinel.url, ask())).toMatch(/^HTTP\/1\.1 502 /);
});

it("forwards no bytes after an upgrade before the upstream has accepted it", async () => {
  const bytes: string[] = [];
  const upstreamUrl = await serveBytes((socket) => {
    socket.on("data", (chunk) => bytes.push(String(chunk)));
    socket.once("data", () => {
      socket.write("HTTP/1.1 426 Upgrade Required\r\ncontent-length: 0\r\n\r\n");
    });
  });
  const sentinel = await startSentinel({ upstreamUrl });

  const answer = await exchange(sentinel.url, `${ask()}GET /hidden HTTP/1.1\r\nHost: u\r\n\r\n`);

  expect(answer).toMatch(/^HTTP\/1\.1 426 /);
  expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
  expect(bytes.join("")).not.toContain("/hidden");
});

it.each([
  [
    "another protocol",
    [...upgrade.slice(0, 1), "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAoAAA"],
    "GET",
  ],
  ["no key of its own", upgrade.slice(0, 3), "GET"],
  ["another method", [...upgrade, "Content-Length: 0"], "POST"],
])("treats an upgrade with %s as an ordinary request", async (_, headers, method) => {
  const upstream = await startEcho();
  const sentinel = await startSentinel({ upstreamUrl: upstream.url });
  const caller = await dial(sentinel.url);

  caller.send(ask(headers, "good-1", `${method} /live HTTP/1.1`));
  await caller.received(/HTTP\/1\.1 200 /);

  expect(upstream.requests).toHaveLength(1);
  expect(upstream.requests[0]?.headers).not.toHaveProperty("upgrade");
});

it("forwards the body of an upgrade that has one as a body", async () => {
  const upstream = await startEcho();
  const sentinel = await startSentinel({ upstreamUrl: upstream.url });
  const caller = await dial(sentinel.url);
  const hidden = "GET /hidden HTTP/1.1\r\nHost: u\r\n\r\n";

  caller.send(ask([...upgrade, `Content-Length: ${hidden.length}`]) + hidden);
  await caller.received(/HTTP\/1\.1 200 /);

  expect(upstream.requests).toMatchObject([{ url: "/live?x=1", body: hidden }]);
});

it("answers 502 when the upstream disconnects during the upgrade, and continues to serve", async () => {
  const upstreamUrl = await serveBytes((socket) => socket.once("data", () => socket.destroy()));
  const sentinel = await startSentinel({ upstreamUrl });

  const answers = [await exchange(sentinel.url, ask()), await exchange(sentinel.url, ask())];

  expect(answers.map((answer) => answer.slice(9, 12))).toEqual(["502", "502"]);
});
