/** A hostile server of JSON, and a service that nothing may connect to. Both end with the test. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcp } from "node:net";
import { onTestFinished } from "vitest";

type Answer = (request: IncomingMessage, port: number) => unknown;

/** Returns its port. */
export async function startServer(answer: Answer): Promise<number> {
  const server = createServer(async (request, response: ServerResponse) => {
    const { port } = server.address() as AddressInfo;
    const body = JSON.stringify(await answer(request, port));
    response.setHeader("content-type", "application/json").end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Counts what connects. */
export async function startService() {
  const seen = { connections: 0 };
  const server = createTcp((socket) => {
    seen.connections += 1;
    socket.on("error", () => {}).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { seen, port: (server.address() as AddressInfo).port };
}
