import type { FastifyInstance } from "fastify";

/** A request may take a minute, but nobody waits a minute for a program to end. */
const graceMs = 15_000;

const lookEveryMs = 50;

/**
 * Takes no new connections, lets requests in flight finish for `withinMs` at most, then closes.
 * What is cut off is answered by nobody: its caller tries again.
 */
export async function closeGracefully(app: FastifyInstance, withinMs = graceMs): Promise<void> {
  // A connection that is kept alive becomes idle only when its last answer has gone out.
  const sweeper = setInterval(() => app.server.closeIdleConnections(), lookEveryMs);
  const timer = setTimeout(() => app.server.closeAllConnections(), withinMs);
  try {
    await app.close();
  } finally {
    clearInterval(sweeper);
    clearTimeout(timer);
  }
}
