/** Which of a caller's headers reach the upstream, and which only the sentinel sets. */
import { describe, expect, it } from "vitest";
import { dial, exchange, startEcho, startSentinel } from "../../support/rollout/sentinel.ts";

const head = (start: string, ...headers: string[]) =>
  [start, "Host: s", "Authorization: Bearer good-1", ...headers, "", ""].join("\r\n");

async function ask(start: string, headers: string[] = [], trustedProxies: string[] = []) {
  const upstream = await startEcho();
  const sentinel = await startSentinel({ upstreamUrl: upstream.url, trustedProxies });
  const caller = await dial(sentinel.url);
  caller.send(head(start, ...headers));
  const [, status] = await caller.received(/^HTTP\/1\.1 (\d+) /);
  return { status, requests: upstream.requests, clients: sentinel.clients };
}

describe("the key's id", () => {
  it.each([
    "X-Vedette-Key-Id: key_admin",
    "x_vedette_key_id: key_admin",
    "X-Vedette_Key-Id: key_admin",
    "x.vedette.key.id: key_admin",
    "X-Vedette-Other: key_admin",
  ])("is set by the sentinel, not by %s", async (header) => {
    const { requests } = await ask("GET / HTTP/1.1", [header]);

    expect(requests[0]?.headers).toMatchObject({ "x-vedette-key-id": "key_1" });
    expect(JSON.stringify(requests)).not.toContain("key_admin");
  });

  it.each([
    "x-vedette-key-id",
    "host",
    "authorization",
    "x-forwarded-for",
    "via, x-request-id",
    "close, X-VEDETTE-KEY-ID,, keep-alive",
  ])("and the other headers are set even when Connection names %s", async (names) => {
    const { requests } = await ask("GET / HTTP/1.1", [`Connection: ${names}`]);

    expect(requests[0]?.headers).toMatchObject({
      host: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      "x-vedette-key-id": "key_1",
      "x-forwarded-for": "127.0.0.1",
      "x-forwarded-host": "s",
      "x-request-id": expect.any(String),
      via: "1.1 sentinel-01",
    });
    expect(requests[0]?.headers).not.toHaveProperty("authorization");
  });
});

it.each([
  "Content_Length: 4",
  "Transfer_Encoding: chunked",
  "Forwarded: for=192.0.2.1",
  "X-Real-IP: 192.0.2.1",
  "X_Forwarded_For: 192.0.2.1",
  "X-Forwarded-Proto: https",
  "X-Forwarded-Prefix: /admin",
  "Proxy: http://evil.example",
  "Keep-Alive: timeout=1",
])("does not forward %s", async (header) => {
  const { status, requests } = await ask("GET / HTTP/1.1", [header]);

  expect(status).toBe("200");
  expect(requests).toHaveLength(1);
  expect(requests[0]?.headers[header.split(":")[0]?.toLowerCase() ?? ""]).not.toBe(
    header.split(": ")[1],
  );
});

it("appends the peer to X-Forwarded-For, and sends the API the peer only", async () => {
  const { requests, clients } = await ask("GET / HTTP/1.1", ["X-Forwarded-For: 192.0.2.1"]);

  expect(requests[0]?.headers["x-forwarded-for"]).toBe("192.0.2.1, 127.0.0.1");
  expect(clients).toEqual(["127.0.0.1"]);
});

it("forwards a header that is none of its own as it came", async () => {
  const { requests } = await ask("GET / HTTP/1.1", ["X-Application: 192.0.2.1"]);

  expect(requests[0]?.headers).toMatchObject({ "x-application": "192.0.2.1" });
});

it("trusts a trusted proxy about the caller's address and protocol", async () => {
  const { requests, clients } = await ask(
    "GET / HTTP/1.1",
    ["X-Forwarded-For: 192.0.2.1, 198.51.100.1", "X-Forwarded-Proto: https"],
    ["127.0.0.0/8"],
  );

  expect(clients).toEqual(["198.51.100.1"]);
  expect(requests[0]?.headers["x-forwarded-proto"]).toBe("https");
});

it.each([
  ["//host/x", "//host/x"],
  ["http://elsewhere/x?y", "/x?y"],
  ["/a%2fb?c=%2e%2e", "/a%2fb?c=%2e%2e"],
])("forwards %s as %s", async (target, url) => {
  const { requests } = await ask(`GET ${target} HTTP/1.1`);

  expect(requests).toMatchObject([{ url }]);
});

it.each(["/a/../b", "/a\\b", "/a#b", "/%2e%2e/b", "ftp://host/x"])("refuses %s", async (target) => {
  const { status, requests } = await ask(`GET ${target} HTTP/1.1`);

  expect(status).toBe("400");
  expect(requests).toEqual([]);
});

it.each(["a, b", 'a"<b>', "a b", "a/b"])("refuses a request for the host %s", async (host) => {
  const upstream = await startEcho();
  const sentinel = await startSentinel({ upstreamUrl: upstream.url });

  const answer = await exchange(
    sentinel.url,
    `GET / HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer good-1\r\n\r\n`,
  );

  expect(answer).toMatch(/^HTTP\/1\.1 400 [\s\S]*bad_host/);
  expect(upstream.requests).toEqual([]);
});

it("refuses a key that is longer than any without asking the API", async () => {
  const sentinel = await startSentinel({ upstreamUrl: (await startEcho()).url });

  const answer = await exchange(
    sentinel.url,
    `GET / HTTP/1.1\r\nHost: s\r\nConnection: close\r\nAuthorization: Bearer ${"k".repeat(513)}\r\n\r\n`,
  );

  expect(answer).toMatch(/^HTTP\/1\.1 401 /);
  expect(sentinel.clients).toEqual([]);
});

it("sends no interim answer to a caller of HTTP/1.0, which has none", async () => {
  const sentinel = await startSentinel({ upstreamUrl: (await startEcho()).url });

  const answer = await exchange(
    sentinel.url,
    "POST / HTTP/1.0\r\nAuthorization: Bearer good-1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nok",
  );

  expect(answer).toMatch(/^HTTP\/1\.1 200 /);
});

it("refuses a request with two hosts", async () => {
  const { status, requests } = await ask("GET / HTTP/1.1", ["Host: other"]);

  expect(status).toBe("400");
  expect(requests).toEqual([]);
});

it("requests the body only when the key is valid", async () => {
  const upstream = await startEcho();
  const sentinel = await startSentinel({ upstreamUrl: upstream.url });
  const expecting = ["Expect: 100-continue", "Content-Length: 4"];
  const caller = await dial(sentinel.url);

  const refused = await exchange(
    sentinel.url,
    head("POST / HTTP/1.1", ...expecting).replace("good-1", "bad"),
  );
  caller.send(head("POST / HTTP/1.1", ...expecting));
  await caller.received(/^HTTP\/1\.1 100 Continue\r\n\r\n/);
  caller.send("body");
  await caller.received(/HTTP\/1\.1 200 /);

  expect(refused).toMatch(/^HTTP\/1\.1 401 /);
  expect(upstream.requests).toMatchObject([{ body: "body" }]);
  expect(upstream.requests[0]?.headers).not.toHaveProperty("expect");
});
