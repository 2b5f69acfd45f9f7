/** Interim answers of an upstream, which the gateway passes over. */
import { describe, expect, it } from "vitest";
import { exchange, serveBytes, startSentinel } from "../../support/rollout/sentinel.ts";
import { unaskedInterims } from "../../support/servers/answering-server.ts";

const head = (start: string, ...headers: string[]) =>
  [start, "Host: s", "Authorization: Bearer good-1", ...headers, "", ""].join("\r\n");

const upgrade = [
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

const requests = [
  ["a GET", head("GET / HTTP/1.1", "Connection: close")],
  ["a POST", `${head("POST / HTTP/1.1", "Connection: close", "Content-Length: 2")}hi`],
  [
    "a POST that expects a 100",
    `${head("POST / HTTP/1.1", "Connection: close", "Expect: 100-continue", "Content-Length: 2")}hi`,
  ],
] as const;

const askFor = async (request: string, interim: string) => {
  let count = 0;
  const upstreamUrl = await serveBytes((socket) => {
    socket.on("data", () => {
      count += 1;
      if (count === 1) socket.write(interim);
      if (count === 1) socket.end(ok);
    });
  });
  const sentinel = await startSentinel({ upstreamUrl });
  const answer = await exchange(sentinel.url, request);
  return answer.replace("HTTP/1.1 100 Continue\r\n\r\n", "");
};

const forwarded = /^HTTP\/1\.1 200 [\s\S]*x-mine: yes[\s\S]*\r\n\r\nok$/;

const ok = "HTTP/1.1 200 OK\r\nx-mine: yes\r\ncontent-length: 2\r\n\r\nok";

describe.each(unaskedInterims)("before its answer %s", (_, interim) => {
  it.each(requests)("is passed over for %s", async (_name, request) => {
    expect(await askFor(request, interim)).toMatch(forwarded);
  });
});

it.each(["100 Continue", "102 Processing", "103 Early Hints"])(
  "%s is passed over before the refusal of an upgrade",
  async (status) => {
    const request = head("GET / HTTP/1.1", ...upgrade);

    expect(await askFor(request, `HTTP/1.1 ${status}\r\n\r\n`)).toMatch(forwarded);
  },
);

it("an answer in a content coding is forwarded as it is", async () => {
  const coded = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc";
  const upstreamUrl = await serveBytes((socket) => {
    socket.once("data", () => socket.end(coded, "latin1"));
  });
  const sentinel = await startSentinel({ upstreamUrl });

  const answer = await exchange(sentinel.url, head("GET / HTTP/1.1", "Connection: close"));

  expect(answer).toMatch(/content-encoding: gzip\r\n[\s\S]*\r\n\r\nabc$/);
});
