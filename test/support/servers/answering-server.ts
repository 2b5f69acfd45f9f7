/** A server that answers every request in one way, as long as the test lasts. */
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
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

/** A server that answers what comes first on a connection with exactly these bytes; counts those. */
export async function serveRaw(answer: string): Promise<{ url: string; requests: number }> {
  const sockets = new Set<Socket>();
  const served = { url: "", requests: 0 };
  const server = createTcpServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    socket.once("data", () => {
      served.requests += 1;
      socket.end(answer, "latin1");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  served.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return served;
}

/** Interim answers that nobody asked for, as RFC 9110, section 15.2, lets servers send. */
export const unaskedInterims = [
  ["a 100", "HTTP/1.1 100 Continue\r\n\r\n"],
  ["two of them", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"],
  ["a 100 without words", "HTTP/1.1 100\r\n\r\n"],
  ["a 100 with headers", "HTTP/1.1 100 Continue\r\nConnection: close\r\ncontent-length: 3\r\n\r\n"],
  ["a 100 of HTTP/1.0", "HTTP/1.0 100 Continue\r\n\r\n"],
  ["a 102", "HTTP/1.1 102 Processing\r\n\r\n"],
  [
    "a 103 and a 100",
    "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\nx: y\r\n\r\n",
  ],
  ["a 199", "HTTP/1.1 199 Odd\r\n\r\n"],
] as const;

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
