/** Requests that are sent on one connection without waiting for the answers before them. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

/**
 * More than any client sends ahead. A thousand short requests fit one packet: all of them would be worked
 * on in one go, while everybody else waits, and their answers held in memory until someone reads them.
 */
const unansweredAtMost = 32;

export type PipelineLimit = {
  /**
   * Whether a request is to be worked on; the connection of one that is not is gone by then. For each request
   * of a server, before anything is done about it.
   */
  admit: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Whether all that came on the request's connection before it is answered. */
  isInTurn: (request: IncomingMessage) => boolean;
};

/** Cuts off who sends more ahead. */
export function createPipelineLimit(): PipelineLimit {
  const unanswered = new WeakMap<Socket, number>();
  const countOf = (socket: Socket) => unanswered.get(socket) ?? 0;
  return {
    admit: ({ socket }, response) => {
      if (countOf(socket) >= unansweredAtMost) {
        // Without a word: it would come amid the answers that are still to be given.
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

/** The same for all of Fastify's requests. Before all other hooks. */
export function limitPipelines(app: FastifyInstance): void {
  // At the server: what the router itself refuses, since it cannot decode it, comes to no hook.
  app.server.prependListener("request", createPipelineLimit().admit);
  app.addHook("onRequest", ({ raw }, _reply, done) => {
    if (!raw.socket.destroyed) done();
  });
}
