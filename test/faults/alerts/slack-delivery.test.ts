/** One attempt at a chat service that answers what none should. */
import { once } from "node:events";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { postToSlack } from "#alerts/channels/slack.ts";

async function start(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
}

/** Writes for as long as somebody reads; answers how much it has written. */
function flood(answer: ServerResponse): () => number {
  const block = "x".repeat(65_536);
  let sent = 0;
  const write = () => {
    while (!answer.destroyed && sent < 200_000_000) {
      sent += block.length;
      if (!answer.write(block)) return;
    }
    answer.end();
  };
  answer.on("drain", write);
  write();
  return () => sent;
}

const limits = { timeoutMs: 5_000 };

describe("postToSlack", () => {
  it.each([
    [200, { outcome: "delivered" }],
    [500, { outcome: "retry", cause: "status 500" }],
    [400, { outcome: "refused", cause: "status 400", status: 400 }],
  ])("reads no answer further than it needs to, of status %i", async (status, expected) => {
    let sent = () => 0;
    const url = await start((_, answer) => {
      answer.writeHead(status);
      sent = flood(answer);
    });

    expect(await postToSlack(url, { text: "hello" }, limits)).toEqual(expected);
    expect(sent()).toBeLessThan(50_000_000);
  });

  it("takes a message as delivered that was accepted, although the answer never ends", async () => {
    const url = await start((_, answer) => {
      answer.writeHead(200);
      answer.write("o");
    });

    expect(await postToSlack(url, { text: "hello" }, limits)).toEqual({ outcome: "delivered" });
  });

  it("gives up an answer that never begins, and one whose refusal never ends", async () => {
    const silent = await start(() => {});
    const endless = await start((_, answer) => {
      answer.writeHead(400);
      answer.write("no_");
    });

    for (const url of [silent, endless]) {
      expect(await postToSlack(url, { text: "hello" }, limits)).toMatchObject({ outcome: "retry" });
    }
  });
});
