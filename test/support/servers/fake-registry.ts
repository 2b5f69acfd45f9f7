/** A registry that answers as a test tells it to, for what no real one does on demand. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export type RegistryRequest = { method: string; path: string; authorization: string | undefined };

/** `hang`: no answer, ever; `close`: the end of the connection. */
export type RegistryReply =
  | { status: number; headers?: Record<string, string | string[]>; body?: string }
  | "hang"
  | "close";

export type FakeRegistry = {
  /** host:port. */
  host: string;
  requests: RegistryRequest[];
  /** When each request came. */
  atMs: number[];
};

/** For the test that asks for it; `reply` decides about every request. */
export async function startFakeRegistry(
  reply: (request: RegistryRequest, count: number) => RegistryReply | Promise<RegistryReply>,
): Promise<FakeRegistry> {
  const requests: RegistryRequest[] = [];
  const atMs: number[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const { method = "", url = "", headers } = incoming;
    const request = { method, path: url, authorization: headers.authorization };
    requests.push(request);
    atMs.push(Date.now());
    const answer = await reply(request, requests.length);
    if (answer === "close") incoming.socket.destroy();
    else if (answer !== "hang") outgoing.writeHead(answer.status, answer.headers).end(answer.body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { host: `127.0.0.1:${port}`, requests, atMs };
}
