import type { Server } from "node:http";
import type { FastifyInstance } from "fastify";

/** A little longer than a request may take: what was taken on is answered. */
const graceMs = 61_000;

const lookEveryMs = 50;

/**
 * Takes no new connections, lets requests in flight finish for `withinMs` at most, then closes.
 * What is cut off then is answered by nobody: its caller tries again.
 */
export function closeGracefully(app: FastifyInstance, withinMs = graceMs): Promise<void> {
  return drain(app.server, async () => app.close(), withinMs);
}

/** The same for a server that `close` closes, once it has no connection any more. */
export async function drain(
  server: Pick<Server, "closeIdleConnections" | "closeAllConnections">,
  close: () => Promise<unknown>,
  withinMs = graceMs,
): Promise<void> {
  // A connection that is kept alive becomes idle only when its last answer has gone out.
  const sweeper = setInterval(() => server.closeIdleConnections(), lookEveryMs);
  const timer = setTimeout(() => server.closeAllConnections(), withinMs);
  try {
    await close();
  } finally {
    clearInterval(sweeper);
    clearTimeout(timer);
  }
}
