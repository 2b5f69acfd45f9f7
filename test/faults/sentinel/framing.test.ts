/** The sentinel and its upstream agree on where a request ends, whatever a caller sends. */
import { describe, expect, it } from "vitest";
import {
  dial,
  exchange,
  serveBytes,
  startEcho,
  startSentinel,
} from "../../support/rollout/sentinel.ts";

const hidden = "GET /hidden HTTP/1.1\r\nHost: u\r\nx-vedette-key-id: key_admin\r\n\r\n";

const head = (start: string, ...headers: string[]) =>
  [start, "Host: s", "Authorization: Bearer good-1", ...headers, "", ""].join("\r\n");

const chunked = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;

const methods = ["GET", "HEAD", "DELETE", "OPTIONS", "POST", "PUT", "PATCH", "QUERY", "PURGE"];

/** Framings of a body, each with the body after it. */
const framings: Record<string, (method: string) => string> = {
  chunked: (method) =>
    head(`${method} /first HTTP/1.1`, "Transfer-Encoding: chunked") + chunked(hidden),
  "Chunked in odd letters": (method) =>
    head(`${method} /first HTTP/1.1`, "tRANSFER-eNCODING: cHuNkEd") + chunked(hidden),
  "a length": (method) =>
    head(`${method} /first HTTP/1.1`, `Content-Length: ${hidden.length}`) + hidden,
  "a length that Connection names": (method) =>
    head(
      `${method} /first HTTP/1.1`,
      `Content-Length: ${hidden.length}`,
      "Connection: keep-alive, content-length",
    ) + hidden,
  "chunks that Connection names": (method) =>
    head(
      `${method} /first HTTP/1.1`,
      "Transfer-Encoding: chunked",
      "Connection: transfer-encoding",
    ) + chunked(hidden),
};

it.each(Object.keys(framings))(
  "a body with %s reaches the upstream as a body, never as a request, with each method",
  async (kind) => {
    const upstream = await startEcho();
    const sentinel = await startSentinel({ upstreamUrl: upstream.url });

    for (const method of methods) {
      const attacker = await dial(sentinel.url);
      const victim = await dial(sentinel.url);
      attacker.send(framings[kind]?.(method) ?? "");
      await attacker.received(/HTTP\/1\.1 200 /);
      victim.send(head("GET /victim HTTP/1.1").replace("good-1", "good-2"));
      await victim.received(/"url":"\/victim"/);
    }

    const seen = upstream.requests.map(({ method, url, body, headers }) => ({
      method,
      url,
      body,
      key: headers["x-vedette-key-id"],
    }));
    const expected = methods.flatMap((method) => [
      { method, url: "/first", body: hidden, key: "key_1" },
      { method: "GET", url: "/victim", body: "", key: "key_2" },
    ]);
    expect(seen).toEqual(expected);
  },
);

describe("an ambiguous framing", () => {
  it.each([
    ["two lengths", ["Content-Length: 3", "Content-Length: 5"], "abcde"],
    ["a list of lengths", ["Content-Length: 3, 5"], "abcde"],
    ["a signed length", ["Content-Length: +5"], "abcde"],
    ["a length and chunks", ["Content-Length: 5", "Transfer-Encoding: chunked"], chunked("abc")],
    ["two codings", ["Transfer-Encoding: identity, chunked"], chunked("abc")],
    [
      "two lines of codings",
      ["Transfer-Encoding: identity", "Transfer-Encoding: chunked"],
      chunked("abc"),
    ],
    ["chunked twice", ["Transfer-Encoding: chunked, chunked"], chunked("abc")],
    ["chunked not last", ["Transfer-Encoding: chunked, identity"], chunked("abc")],
    ["no chunks at all", ["Transfer-Encoding: identity"], "abc"],
    ["a coding with a tab", ["Transfer-Encoding:\x0bchunked"], chunked("abc")],
    ["a space before the colon", ["Transfer-Encoding : chunked"], chunked("abc")],
    ["a folded line", ["X-Folded: a", " Transfer-Encoding: chunked"], chunked("abc")],
    [
      "a size of a chunk that overflows",
      ["Transfer-Encoding: chunked"],
      "fffffffffffffffff\r\nabc\r\n0\r\n\r\n",
    ],
    ["chunks that end with a bare line feed", ["Transfer-Encoding: chunked"], "3\nabc\n0\n\n"],
    ["a bare line feed among the headers", ["X-A: 1\nContent-Length: 5"], "abcde"],
  ])("with %s is refused, and the connection closed", async (_, headers, body) => {
    const upstream = await startEcho();
    const sentinel = await startSentinel({ upstreamUrl: upstream.url });

    const answer = await exchange(
      sentinel.url,
      head("POST /first HTTP/1.1", ...headers) + body + hidden,
    );

    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(upstream.requests).toEqual([]);
  });

  it("is refused for chunks in HTTP/1.0", async () => {
    const upstream = await startEcho();
    const sentinel = await startSentinel({ upstreamUrl: upstream.url });

    const answer = await exchange(
      sentinel.url,
      head("POST /first HTTP/1.0", "Connection: keep-alive", "Transfer-Encoding: chunked") +
        chunked("abc"),
    );

    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(upstream.requests).toEqual([]);
  });
});

it("forwards the body without its trailers", async () => {
  const upstream = await startEcho();
  const sentinel = await startSentinel({ upstreamUrl: upstream.url });
  const caller = await dial(sentinel.url);

  caller.send(
    head("POST / HTTP/1.1", "Transfer-Encoding: chunked", "Trailer: x-vedette-key-id") +
      "3\r\nabc\r\n0\r\nx-vedette-key-id: key_admin\r\n\r\n",
  );
  await caller.received(/HTTP\/1\.1 200 /);

  expect(upstream.requests).toMatchObject([{ body: "abc" }]);
  expect(upstream.requests[0]?.headers).toMatchObject({ "x-vedette-key-id": "key_1" });
  expect(upstream.requests[0]?.headers).not.toHaveProperty("trailer");
});

it("does not reuse a connection after a body where many servers expect none", async () => {
  let connections = 0;
  const upstreamUrl = await serveBytes((socket) => {
    connections += 1;
    // This upstream reads no body after GET: it parses the rest as another request.
    socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"));
  });
  const sentinel = await startSentinel({ upstreamUrl });
  const attacker = await dial(sentinel.url);
  const victim = await dial(sentinel.url);

  attacker.send(head("GET /first HTTP/1.1", `Content-Length: ${hidden.length}`) + hidden);
  await attacker.received(/ok$/);
  victim.send(head("GET /victim HTTP/1.1"));
  await victim.received(/ok$/);

  expect(connections).toBe(2);
});
