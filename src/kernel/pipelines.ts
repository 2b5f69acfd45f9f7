/** Limits HTTP pipelining: requests sent on one connection before earlier ones are answered. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

/**
 * More than any client pipelines. A thousand short requests fit one packet: all of them would be handled in
 * one go while other clients wait, and their responses would stay in memory until the client reads them.
 */
const unansweredAtMost = 32;

export type PipelineLimit = {
  /**
   * Whether to handle a request. When not, its connection has been destroyed. Must be called for each
   * request of a server, before anything else.
   */
  admit: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Whether all earlier requests of the same connection have been answered. */
  isInTurn: (request: IncomingMessage) => boolean;
};

/** Destroys connections with more than `unansweredAtMost` unanswered requests. */
export function createPipelineLimit(): PipelineLimit {
  const connections = new WeakMap<Socket, { unanswered: number }>();
  return {
    admit: ({ socket }, response) => {
      let connection = connections.get(socket);
      if (connection === undefined) {
        connection = { unanswered: 0 };
        connections.set(socket, connection);
      }
      if (connection.unanswered >= unansweredAtMost) {
        // Without a response, which would mix with the pending ones.
        socket.destroy();
        return false;
      }
      connection.unanswered += 1;
      // A response closes once.
      response.on("close", () => {
        connection.unanswered -= 1;
      });
      return true;
    },
    isInTurn: ({ socket }) => (connections.get(socket)?.unanswered ?? 0) === 0,
  };
}

/** Applies the limit to all requests of a Fastify app. Must be called before any other hook is added. */
export function limitPipelines(app: FastifyInstance): void {
  // On the server: requests that the router refuses, because it cannot decode them, reach no hook.
  app.server.prependListener("request", createPipelineLimit().admit);
  app.addHook("onRequest", ({ raw }, _reply, done) => {
    if (!raw.socket.destroyed) done();
  });
}
