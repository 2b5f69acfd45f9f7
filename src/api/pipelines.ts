/** Requests that are sent on one connection without waiting for the answers before them. */
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

/**
 * More than any client sends ahead. A thousand short requests fit one packet: all of them would be worked
 * on in one go, while everybody else waits, and their answers held in memory until someone reads them.
 */
const unansweredAtMost = 32;

/** Cuts off who sends more ahead. Before all other hooks. */
export function limitPipelines(app: FastifyInstance): void {
  const unanswered = new WeakMap<Socket, number>();
  app.addHook("onRequest", (request, reply, done) => {
    const { socket } = request.raw;
    const count = (unanswered.get(socket) ?? 0) + 1;
    // Without a word: it would come amid the answers that are still to be given.
    if (count > unansweredAtMost) return void socket.destroy();
    unanswered.set(socket, count);
    reply.raw.once("close", () => unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1));
    done();
  });
}
