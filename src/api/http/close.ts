import type { Server } from "node:http";
import type { FastifyInstance } from "fastify";

/** A little longer than a request may take, so that accepted requests are answered. */
const graceMs = 61_000;

const pollEveryMs = 50;

/** Accepts no connections, lets requests finish for `withinMs` at most, then closes: the rest get no answer. */
export function closeGracefully(app: FastifyInstance, withinMs = graceMs): Promise<void> {
  return drain(app.server, async () => app.close(), withinMs);
}

/** The same for a server that `close` closes; it resolves when no connection is left. */
export async function drain(
  server: Pick<Server, "closeIdleConnections" | "closeAllConnections">,
  close: () => Promise<unknown>,
  withinMs = graceMs,
): Promise<void> {
  // A keep-alive connection becomes idle only when its last answer has been sent.
  const sweeper = setInterval(() => server.closeIdleConnections(), pollEveryMs);
  const timer = setTimeout(() => server.closeAllConnections(), withinMs);
  try {
    await close();
  } finally {
    clearInterval(sweeper);
    clearTimeout(timer);
  }
}
