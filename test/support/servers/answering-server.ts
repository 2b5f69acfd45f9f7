/** A server that answers every request in one way, as long as the test lasts. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** Its address. The request has been read when `answer` is called. */
export async function serveAnswer(answer: (outgoing: ServerResponse) => void): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    incoming.resume().on("end", () => answer(outgoing));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Writes for as long as anybody reads; `written` counts how much that was. */
export function writeWithoutEnd(outgoing: ServerResponse, written: { bytes: number }): void {
  const chunk = Buffer.alloc(1_000_000, "x");
  const go = () => {
    while (!outgoing.destroyed) {
      written.bytes += chunk.length;
      if (!outgoing.write(chunk)) return;
    }
  };
  outgoing.on("drain", go);
  go();
}
