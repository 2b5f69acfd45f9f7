/** Helpers for servers: listening, the path of a request, pipelined requests, and a connection that ends. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Socket } from "node:net";
import type { FastifyInstance } from "fastify";

/** The error for a port that another program uses; `setting` is the one that names the port. */
export function portTaken(port: number, setting: string, options?: ErrorOptions): Error {
  const advice = `end it or set ${setting} (0 takes a free port)`;
  return new Error(`port ${port} is taken by another program; ${advice}`, options);
}

/** Waits until a server listens. Throws `portTaken` when its port is in use. */
export async function listening<T>(
  start: Promise<T>,
  at: { port: number; setting: string },
): Promise<T> {
  try {
    return await start;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EADDRINUSE") throw cause;
    throw portTaken(at.port, at.setting, { cause });
  }
}

/** True if several threads or processes may listen at one port, among which the system divides connections. */
export function canSharePorts(platform = process.platform): boolean {
  return platform === "linux" || platform === "freebsd";
}

/** Throws `portTaken`. For a port that threads will share: listening would not fail if the other shares it, too. */
export async function requireFreePort(at: {
  host: string;
  port: number;
  setting: string;
}): Promise<void> {
  const { host, port } = at;
  if (port === 0) return;
  const server = createServer();
  const tried = Promise.withResolvers<void>();
  server.once("error", tried.reject);
  server.listen({ host, port }, tried.resolve);
  await listening(tried.promise, at);
  await new Promise((resolve) => server.close(resolve));
}

/** The path of a request, without its query: what rules, routes and logs go by. */
export function pathOf({ url = "" }: { url?: string | undefined }): string {
  return url.split("?", 1)[0] ?? "";
}

// Limits what a connection sends: requests before earlier ones are answered (HTTP pipelining), and the rest of a request
// that is answered already.

/** More than any client pipelines. A packet may have a thousand requests, handled and kept in one go. */
const unansweredAtMost = 32;

type PipelineLimit = {
  /** True if a request should be handled; else its connection is gone. Call it first for each request of a server. */
  admit: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** True if all earlier requests of the same connection have been answered. */
  isInTurn: (request: IncomingMessage) => boolean;
};

/** `unanswered`: the oldest first. `waiting`: what begins a request in its turn. */
type Connection = {
  unanswered: IncomingMessage[];
  newest: IncomingMessage;
  waiting: Map<IncomingMessage | undefined, () => void>;
};

const connections = new WeakMap<Socket, Connection>();

/** Destroys connections with more than `unansweredAtMost` unanswered requests. */
export function createPipelineLimit(): PipelineLimit {
  return {
    admit: (request, response) => {
      const { socket } = request;
      let connection = connections.get(socket);
      if (connection === undefined) {
        connection = { unanswered: [], newest: request, waiting: new Map() };
        connections.set(socket, connection);
        closeAfterBody(socket, connection);
      }
      connection.newest = request;
      const { unanswered, waiting } = connection;
      if (unanswered.length >= unansweredAtMost || socket.writableEnded) {
        // Without a response, which would mix with the pending ones, or come after the last one.
        socket.destroy();
        return false;
      }
      unanswered.push(request);
      // A response closes once.
      response.on("close", () => {
        unanswered.splice(unanswered.indexOf(request), 1);
        if (!request.complete && socket.writable) discardRest(request, socket);
        const [next] = unanswered;
        if (!socket.destroyed) waiting.get(next)?.();
        waiting.delete(next);
      });
      return true;
    },
    isInTurn: ({ socket }) => (connections.get(socket)?.unanswered.length ?? 0) === 0,
  };
}

/** After the answer it is closed in one direction: a reset, while the client still sends, would lose the answer. */
function closeAfterBody(socket: Socket, connection: Connection): void {
  const { destroySoon } = socket;
  socket.destroySoon = () => {
    if (connection.newest.complete) return destroySoon.call(socket);
    socket.end();
    discardRest(connection.newest, socket);
  };
}

/** Limits for the rest of a request that is already answered; more than a client sends before it reads the answer. */
const discardedAtMost = { bytes: 64 * 1_024 * 1_024, ms: 5_000 };

/** Reads a request to its end without holding it in memory. At the limits the connection is closed. */
function discardRest(request: IncomingMessage, socket: Socket): void {
  const untilBytes = socket.bytesRead + discardedAtMost.bytes;
  const untilMs = performance.now() + discardedAtMost.ms;
  request.resume();
  const timer = setInterval(() => {
    const isWithin = socket.bytesRead < untilBytes && performance.now() < untilMs;
    if (!request.complete && !socket.destroyed && isWithin) return;
    clearInterval(timer);
    if (!request.complete || socket.writableEnded) socket.destroy();
  }, 20);
}

/** Starts each request only when those before are answered, so one answer is in memory. Call it before other hooks. */
export function limitPipelines(app: FastifyInstance): void {
  // On the server: requests that the router refuses, because it cannot decode them, reach no hook.
  app.server.prependListener("request", createPipelineLimit().admit);
  app.addHook("onRequest", ({ raw }, _reply, done) => {
    if (raw.socket.destroyed) return;
    const { unanswered: [first] = [], waiting } = connections.get(raw.socket) ?? {};
    if (first === undefined || first === raw) done();
    else waiting?.set(raw, done);
  });
}

/** Time for a peer to read the last message and to close the connection itself. */
const lingerMs = 1_000;

/** Sends a last message and closes, even if the peer doesn't, which would hold a file descriptor of ours. */
export function endWith(socket: Socket, message: string): void {
  socket.end(message);
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
}
