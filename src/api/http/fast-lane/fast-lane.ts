/**
 * Answers the usual requests of the most frequent procedures before they reach Node's HTTP server and Fastify, which take
 * more time for one than the procedure does. Each connection begins here. With the first byte that is not such a request it
 * goes to Node's server, with all that was received and not answered, for ever.
 */
import { type Server, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import type { Headers, WireAnswer } from "#api/http/wire-answer.ts";
import { createAddressOf, type TrustProxy } from "./address.ts";
import { FastConnection } from "./connection.ts";
import type { FastRoutes } from "./routes.ts";

export type FastLaneParts = {
  routes: FastRoutes;
  trustProxy: TrustProxy;
  isLeaving: () => boolean;
  receiveTimeoutMs: number;
};

/** Node's server too waits a little longer than it says. */
const graceMs = 1_000;

/** Must be called before the app listens. */
export function openFastLane(app: FastifyInstance, parts: FastLaneParts): void {
  const { server } = app;
  const [connect] = server.listeners("connection") as ((this: Server, socket: Socket) => void)[];
  if (connect === undefined) throw new Error("the HTTP server takes no connections");
  let isClosing = false;
  app.addHook("preClose", async () => {
    isClosing = true;
  });
  const connections = new Set<FastConnection>();
  const shared = {
    server,
    idleTimeoutMs: Math.min(server.keepAliveTimeout + graceMs, server.timeout),
    routes: parts.routes,
    receiveTimeoutMs: parts.receiveTimeoutMs,
    addressOf: createAddressOf(parts.trustProxy),
    toHttp: createToHttp(server.keepAliveTimeout),
    isOpen: () => !isClosing && !parts.isLeaving(),
    connect: (socket: Socket) => connect.call(server, socket),
    leave: (connection: FastConnection) => void connections.delete(connection),
  };
  server.removeListener("connection", connect);
  server.on("connection", (socket) => void connections.add(new FastConnection(socket, shared)));
  closeWith(server, connections);
}

/** The server does not know connections that it was not given yet. */
function closeWith(server: Server, connections: ReadonlySet<FastConnection>): void {
  const { closeIdleConnections, closeAllConnections } = server;
  server.closeIdleConnections = () => {
    closeIdleConnections.call(server);
    for (const connection of connections) connection.closeIfIdle();
  };
  server.closeAllConnections = () => {
    closeAllConnections.call(server);
    for (const connection of connections) connection.close();
  };
}

/** `keepAliveMs`: how long the connection stays open without a request. */
function createToHttp(keepAliveMs: number): (answer: WireAnswer) => string {
  const seconds = Math.floor(keepAliveMs / 1_000);
  const keptAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${seconds}\r\n\r\n`;
  const now = createDate();
  return ({ status, headers, type, body }) => {
    const start = status === 200 ? ok : `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
    const own = headers === undefined ? "" : linesOf(headers);
    const length = Buffer.byteLength(body);
    return `${start}${own}content-type: ${type}\r\ncontent-length: ${length}\r\nDate: ${now()}\r\n${keptAlive}${body}`;
  };
}

const ok = "HTTP/1.1 200 OK\r\n";

function linesOf(headers: Headers): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
}

/** The value of the header `Date`, which is the same for a second. */
function createDate(): () => string {
  let text = "";
  let untilMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = Date.now();
    if (nowMs >= untilMs || nowMs < untilMs - 1_000) {
      text = new Date(nowMs).toUTCString();
      untilMs = nowMs - (nowMs % 1_000) + 1_000;
    }
    return text;
  };
}
