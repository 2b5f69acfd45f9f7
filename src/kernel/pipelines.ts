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
  const unanswered = new WeakMap<Socket, number>();
  const countOf = (socket: Socket) => unanswered.get(socket) ?? 0;
  return {
    admit: ({ socket }, response) => {
      if (countOf(socket) >= unansweredAtMost) {
        // Without a response, which would mix with the pending ones.
        socket.destroy();
        return false;
      }
      unanswered.set(socket, countOf(socket) + 1);
      response.once("close", () => unanswered.set(socket, countOf(socket) - 1));
      return true;
    },
    isInTurn: ({ socket }) => countOf(socket) === 0,
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
