/** Requests that are sent on one connection without waiting for the answers before them. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

/**
 * More than any client sends ahead. A thousand short requests fit one packet: all of them would be worked
 * on in one go, while everybody else waits, and their answers held in memory until someone reads them.
 */
const unansweredAtMost = 32;

/** Answers whether a request is to be worked on; the connection of one that is not is gone by then. */
export type LimitPipeline = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Cuts off who sends more ahead. For each request of a server, before anything is done about it. */
export function createPipelineLimit(): LimitPipeline {
  const unanswered = new WeakMap<Socket, number>();
  return ({ socket }, response) => {
    const count = (unanswered.get(socket) ?? 0) + 1;
    if (count > unansweredAtMost) {
      // Without a word: it would come amid the answers that are still to be given.
      socket.destroy();
      return false;
    }
    unanswered.set(socket, count);
    response.once("close", () => unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1));
    return true;
  };
}

/** The same for all of Fastify's requests. Before all other hooks. */
export function limitPipelines(app: FastifyInstance): void {
  // At the server: what the router itself refuses, since it cannot decode it, comes to no hook.
  app.server.prependListener("request", createPipelineLimit());
  app.addHook("onRequest", ({ raw }, _reply, done) => {
    if (!raw.socket.destroyed) done();
  });
}
