/** A registry that answers as a test tells it to, for what no real one does on demand. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export type RegistryRequest = { method: string; path: string; authorization: string | undefined };

/** `hang`: no answer, ever. */
export type RegistryReply =
  | { status: number; headers?: Record<string, string | string[]>; body?: string }
  | "hang";

export type FakeRegistry = {
  /** host:port. */
  host: string;
  requests: RegistryRequest[];
  /** When each request came. */
  atMs: number[];
};

/** For the test that asks for it; `reply` decides about every request. */
export async function startFakeRegistry(
  reply: (request: RegistryRequest, count: number) => RegistryReply,
): Promise<FakeRegistry> {
  const requests: RegistryRequest[] = [];
  const atMs: number[] = [];
  const server = createServer((incoming, outgoing) => {
    const { method = "", url = "", headers } = incoming;
    const request = { method, path: url, authorization: headers.authorization };
    requests.push(request);
    atMs.push(Date.now());
    const answer = reply(request, requests.length);
    if (answer !== "hang") outgoing.writeHead(answer.status, answer.headers).end(answer.body);
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
