/** Answers as other systems send them, by every way in which undici is used. */
import { createServer } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { postToSlack } from "#alerts/channels/slack.ts";
import { Agent, request } from "#kernel/http.ts";
import { serveAnswer, serveRaw, unaskedInterims } from "../../support/servers/answering-server.ts";

const ok = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const within = { signal: AbortSignal.timeout(60_000) };

/** Answers each request on its connection, byte by byte. */
async function serveSlowly(answer: string): Promise<string> {
  const server = createServer((socket) => {
    socket.setNoDelay().on("error", () => {});
    socket.on("data", async () => {
      for (const char of answer) {
        socket.write(char, "latin1");
        await new Promise(setImmediate);
      }
    });
    onTestFinished(() => void socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

describe.each(unaskedInterims)("before its answer %s", (_, interim) => {
  it("is passed over by requests", async () => {
    const { url } = await serveRaw(interim + ok);

    const answer = await request(url, within);

    expect([answer.statusCode, await answer.body.text()]).toEqual([200, "ok"]);
  });

  it("is passed over by fetch", async () => {
    const { url } = await serveRaw(interim + ok);

    expect(await (await fetch(url, within)).text()).toBe("ok");
  });

  it("is passed over by messages to chat", async () => {
    const { url } = await serveRaw(interim + ok);

    expect(await postToSlack(url, { text: "a" }, { timeoutMs: 30_000 })).toEqual({
      outcome: "delivered",
    });
  });

  it("is passed over byte by byte, on each request of a connection", async () => {
    const url = await serveSlowly(interim + ok);
    const dispatcher = new Agent({ connections: 1 });
    onTestFinished(() => dispatcher.destroy());
    const ask = async () => (await request(url, { ...within, dispatcher })).body.text();

    expect([await ask(), await ask(), await ask()]).toEqual(["ok", "ok", "ok"]);
  });
});

it("a body that looks like an interim answer stays as it is", async () => {
  const body = "HTTP/1.1 100 Continue\r\n\r\n";
  const { url } = await serveRaw(
    `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );

  expect(await (await request(url, within)).body.text()).toBe(body);
});

it("an answer that switches to a protocol unasked is refused", async () => {
  const { url } = await serveRaw("HTTP/1.1 101 Switching Protocols\r\n\r\n");

  await expect(request(url, within)).rejects.toThrow();
});

it("an answer that ends in an interim one is refused", async () => {
  const { url } = await serveRaw("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 1");

  await expect(request(url, within)).rejects.toThrow();
});

describe("a compressed answer", () => {
  it("is read as text and as bytes", async () => {
    const url = await serveAnswer((outgoing) => {
      outgoing.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync('{"a":1}'));
    });
    const ask = async () => (await request(url, within)).body;

    expect(await (await ask()).text()).toBe('{"a":1}');
    expect(String(Buffer.from(await (await ask()).arrayBuffer()))).toBe('{"a":1}');
  });

  it("that becomes enormous is refused", async () => {
    const url = await serveAnswer((outgoing) => {
      outgoing.writeHead(200, { "content-encoding": "gzip" });
      outgoing.end(gzipSync(Buffer.alloc(100_000_000)));
    });

    const { body } = await request(url, within);

    await expect(body.text()).rejects.toThrow("max size");
  });

  it("that breaks off is refused, and nothing else ends", async () => {
    const url = await serveAnswer((outgoing) => {
      outgoing.writeHead(200, { "content-encoding": "gzip" });
      outgoing.write(gzipSync("a".repeat(1_000)).subarray(0, 12), () => outgoing.destroy());
    });

    const { body } = await request(url, within);

    await expect(body.text()).rejects.toThrow();
  });
});

it("a request has a user agent, which the caller may replace", async () => {
  const agents: unknown[] = [];
  const url = await serveAnswer((outgoing) => {
    agents.push(outgoing.req.headers["user-agent"]);
    outgoing.end();
  });

  await (await request(url)).body.dump();
  await (await request(url, { headers: { "user-agent": "mine" } })).body.dump();

  expect(agents).toEqual(["vedette", "mine"]);
});
