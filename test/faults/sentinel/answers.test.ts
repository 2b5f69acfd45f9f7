/** Faulty upstreams and callers that disconnect do not affect other requests. */
import { expect, it } from "vitest";
import {
  dial,
  exchange,
  serveBytes,
  serveHttp,
  startEcho,
  startSentinel,
} from "../../support/rollout/sentinel.ts";
import { waitFor } from "../../support/wait-for.ts";

const head = (start: string, ...headers: string[]) =>
  [start, "Host: s", "Authorization: Bearer good-1", ...headers, "", ""].join("\r\n");

const get = head("GET / HTTP/1.1", "Connection: close");
const health = head("GET /.sentinel/health HTTP/1.1", "Connection: close");

/** An upstream that answers each connection's first bytes with these. */
const answering = (...chunks: string[]) =>
  serveBytes((socket) => {
    socket.once("data", () => {
      for (const chunk of chunks) socket.write(chunk);
      socket.end();
    });
  });

const chunkedAnswer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n";

it.each([
  ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nabc"],
  ["a length and chunks", `${chunkedAnswer}content-length: 3\r\n\r\n3\r\nabc\r\n0\r\n\r\n`],
  ["no HTTP", "SSH-2.0-OpenSSH\r\n"],
  ["headers without an end", `HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(20_000)}`],
  ["interim answers without an end", "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1_000)],
  [
    "another protocol",
    "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
  ],
  ["nothing", ""],
  ["a coding of its own", "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n"],
  ["a coding without chunks", "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\nbytes"],
])("answers 502 for an upstream that answers %s", async (_, text) => {
  const sentinel = await startSentinel({ upstreamUrl: await answering(text) });

  expect(await exchange(sentinel.url, get)).toMatch(/^HTTP\/1\.1 502 /);
});

/** An upstream that closes each connection at its second request, as if it had been idle. */
async function startForgetful() {
  const asked: string[] = [];
  const url = await serveBytes((socket) => {
    let count = 0;
    socket.on("data", (chunk) => {
      asked.push(String(chunk).split(" ", 1)[0] ?? "");
      count += 1;
      if (count === 1) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
      else socket.destroy();
    });
  });
  return { url, asked };
}

it.each(["GET", "HEAD", "OPTIONS"])("retries a %s whose connection was closed", async (method) => {
  const upstream = await startForgetful();
  const sentinel = await startSentinel({ upstreamUrl: upstream.url });
  await exchange(sentinel.url, get);

  const answer = await exchange(sentinel.url, head(`${method} / HTTP/1.1`, "Connection: close"));

  expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  expect(upstream.asked).toEqual(["GET", method, method]);
});

it("does not retry a request that may change something when its connection was closed", async () => {
  const upstream = await startForgetful();
  const sentinel = await startSentinel({ upstreamUrl: upstream.url });
  await exchange(sentinel.url, get);

  const answer = await exchange(sentinel.url, head("DELETE / HTTP/1.1", "Connection: close"));

  expect(answer).toMatch(/^HTTP\/1\.1 502 /);
  expect(upstream.asked).toEqual(["GET", "DELETE"]);
});

it("skips interim answers", async () => {
  const text =
    "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
  const sentinel = await startSentinel({ upstreamUrl: await answering(text) });

  expect(await exchange(sentinel.url, get)).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\n\r\nok$/);
});

it("forwards the answer of an HTTP/1.0 upstream", async () => {
  const sentinel = await startSentinel({
    upstreamUrl: await answering("HTTP/1.0 200 OK\r\nx-old: yes\r\n\r\nup to the end"),
  });

  const answer = await exchange(sentinel.url, get);

  expect(answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*x-old: yes/);
  expect(answer).toContain("up to the end");
});

it.each([
  ["a length", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc"],
  ["chunks", `${chunkedAnswer}\r\n3\r\nabc\r\n`],
])("cuts off an answer that is shorter than its %s", async (_, text) => {
  const sentinel = await startSentinel({ upstreamUrl: await answering(text) });

  const answer = await exchange(sentinel.url, get);

  expect(answer).toContain("abc");
  expect(answer).not.toMatch(/0\r\n\r\n$/);
});

it.each([
  ["HEAD", "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n"],
  ["GET", "HTTP/1.1 204 No Content\r\ncontent-length: 6\r\n\r\n"],
  ["GET", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"],
])("does not read bytes after an answer to %s as the next answer", async (method, text) => {
  let isCutOff = false;
  const upstreamUrl = await serveBytes((socket) => {
    socket.on("data", (chunk) => {
      if (String(chunk).includes("/victim")) {
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood");
        return;
      }
      socket.write(text);
      socket.on("close", () => {
        isCutOff = true;
      });
      // Late, so that the connection is idle already.
      setTimeout(() => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nbad"), 50);
    });
  });
  const sentinel = await startSentinel({ upstreamUrl });
  const attacker = await dial(sentinel.url);

  attacker.send(head(`${method} / HTTP/1.1`));
  await attacker.received(/HTTP\/1\.1 20[04] /);
  await waitFor(() => isCutOff, { withinMs: 30_000, what: "the connection to be closed" });
  const answers = [];
  for (let count = 0; count < 10; count += 1) {
    answers.push(await exchange(sentinel.url, head("GET /victim HTTP/1.1", "Connection: close")));
  }

  expect(answers.filter((answer) => answer.includes("bad"))).toEqual([]);
});

it("forwards an answer that comes before the upstream has read the body, and continues", async () => {
  const upstreamUrl = await serveHttp((incoming, outgoing) => {
    if (incoming.url === "/large") outgoing.writeHead(413).end("too large");
    else outgoing.end("fine");
  });
  const sentinel = await startSentinel({ upstreamUrl });
  const caller = await dial(sentinel.url);
  const body = "x".repeat(100_000);

  caller.send(head("POST /large HTTP/1.1", `Content-Length: ${10 * body.length}`) + body);
  await caller.received(/HTTP\/1\.1 413 [\s\S]*too large/);
  for (let sent = 1; sent < 10; sent += 1) caller.send(body);
  caller.send(head("GET /next HTTP/1.1"));

  await caller.received(/HTTP\/1\.1 200 [\s\S]*fine/);
});

it.each([
  ["a length", "Content-Length: 100", "half"],
  ["chunks", "Transfer-Encoding: chunked", "4\r\nhalf\r\n"],
])(
  "ends the upstream's connection when a caller disconnects during a body with %s",
  async (_, framing, sent) => {
    const connections: string[] = [];
    let closed = 0;
    const upstreamUrl = await serveBytes((socket) => {
      const index = connections.push("") - 1;
      socket.on("data", (chunk) => {
        connections[index] += String(chunk);
      });
      socket.once("close", () => {
        closed += 1;
      });
    });
    const sentinel = await startSentinel({ upstreamUrl });
    const caller = await dial(sentinel.url);

    caller.send(head("POST / HTTP/1.1", framing) + sent);
    await waitFor(() => connections[0]?.includes("half"), { withinMs: 10_000, what: "the half" });
    caller.destroy();
    await waitFor(() => closed === 1, {
      withinMs: 10_000,
      what: "the upstream's connection's end",
    });

    expect(connections[0]).not.toMatch(/\r\n0\r\n\r\n$/);
  },
);

it("ends the upstream's connection when a caller disconnects while it waits", async () => {
  let closed = 0;
  let asked = 0;
  const upstreamUrl = await serveBytes((socket) => {
    socket.on("data", () => {
      asked += 1;
    });
    socket.once("close", () => {
      closed += 1;
    });
  });
  const sentinel = await startSentinel({ upstreamUrl });
  const caller = await dial(sentinel.url);

  caller.send(head("GET / HTTP/1.1"));
  await waitFor(() => asked === 1, { withinMs: 10_000, what: "the request" });
  caller.destroy();

  await waitFor(() => closed === 1, { withinMs: 10_000, what: "the upstream's connection's end" });
});

it("keeps answering others beside a hundred bodies that never end", async () => {
  const upstream = await startEcho();
  const sentinel = await startSentinel({ upstreamUrl: upstream.url });
  const slow = await Promise.all(Array.from({ length: 100 }, () => dial(sentinel.url)));

  for (const one of slow) one.send(`${head("POST /slow HTTP/1.1", "Content-Length: 1000")}x`);

  expect(await exchange(sentinel.url, get)).toMatch(/^HTTP\/1\.1 200 /);
});

it.each([
  ["its whole request", get],
  ["half a body", `${head("POST / HTTP/1.1", "Content-Length: 9")}half`],
])(
  "sends nothing upstream for a caller that sent %s and left while the key was verified",
  async (_, text) => {
    const gate = Promise.withResolvers<void>();
    let verified = 0;
    const apiUrl = await serveHttp(async (incoming, outgoing) => {
      incoming.resume();
      verified += 1;
      if (verified === 1) await gate.promise;
      outgoing.end(JSON.stringify({ data: { valid: true, keyId: "key_1" } }));
    });
    const seen = { connections: 0, requests: 0 };
    const upstreamUrl = await serveHttp(
      (incoming, outgoing) => {
        seen.requests += 1;
        incoming.resume().on("end", () => outgoing.end("ok"));
      },
      (server) => {
        server.on("connection", () => {
          seen.connections += 1;
        });
      },
    );
    const sentinel = await startSentinel({ upstreamUrl, apiUrl });
    const caller = await dial(sentinel.url);
    caller.send(text);
    await waitFor(() => verified === 1, { withinMs: 10_000, what: "the API to be asked" });

    caller.destroy();
    await exchange(sentinel.url, health);
    gate.resolve();

    expect(await exchange(sentinel.url, get)).toMatch(/^HTTP\/1\.1 200 /);
    expect(seen).toEqual({ connections: 1, requests: 1 });
  },
);
