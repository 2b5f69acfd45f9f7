/** The public side of a sentinel: authenticate, forward, answer. */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Server as NetServer } from "node:net";
import { ProblemError, toProblem } from "#kernel/problem.ts";
import type { Forward } from "./forward.ts";
import { answerHealth, type Health } from "./health.ts";
import type { VerifyKey } from "./verify.ts";

export type GatewayParts = {
  verifyKey: VerifyKey;
  /** undefined: there is no upstream, which every request is told. */
  forward: Forward | undefined;
  health: () => Health;
};

const publicHealthPath = "/.sentinel/health";

export type Gateway = {
  server: Server;
  /** Takes no new connections; resolves once those that there are have ended. */
  drain: () => Promise<void>;
};

/** How long a connection may be idle: also how long a drain waits for those that stay so. */
const keepAliveTimeoutMs = 3_000;

export function createGateway(parts: GatewayParts): Gateway {
  let isDraining = false;
  const server = createServer(
    { headersTimeout: 10_000, requestTimeout: 300_000, keepAliveTimeout: keepAliveTimeoutMs },
    (incoming, outgoing) => {
      // Told with an answer, a caller opens its next connection elsewhere; cut off, it would fail.
      if (isDraining) outgoing.setHeader("connection", "close");
      if (incoming.url === publicHealthPath) {
        answerHealth(outgoing, parts.health());
        return;
      }
      const requestId = requestIdOf(incoming);
      serve(parts, incoming, outgoing, requestId).catch((error: unknown) => {
        refuse(outgoing, error, requestId);
      });
    },
  );
  const drain = () => {
    isDraining = true;
    // Not the HTTP server's own close: that cuts off idle connections, on which a request may just be
    // under way. In the next turn, so that what has connected already is accepted first.
    return new Promise<void>((resolve) => {
      setImmediate(() => NetServer.prototype.close.call(server, () => resolve()));
    });
  };
  return { server, drain };
}

async function serve(
  { verifyKey, forward }: GatewayParts,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  requestId: string,
): Promise<void> {
  const { keyId } = await verifyKey(bearerOf(incoming));
  if (forward === undefined) {
    const detail = "this sentinel has no upstream to forward to";
    throw new ProblemError({ status: 503, code: "unavailable", detail });
  }
  await forward(incoming, outgoing, { keyId, requestId });
}

function bearerOf(incoming: IncomingMessage): string {
  const key = /^Bearer (\S+)$/i.exec(incoming.headers.authorization ?? "")?.[1];
  if (key !== undefined) return key;
  const detail = 'send a key as "Authorization: Bearer <key>"';
  throw new ProblemError({ status: 401, code: "unauthorized", detail });
}

/** The caller's own id when it is a sane one, so that both sides name a request alike. */
function requestIdOf(incoming: IncomingMessage): string {
  const given = incoming.headers["x-request-id"];
  return typeof given === "string" && /^[\w.-]{1,128}$/.test(given) ? given : randomUUID();
}

function refuse(outgoing: ServerResponse, error: unknown, requestId: string): void {
  if (outgoing.headersSent || outgoing.destroyed) {
    // The answer has begun: cutting it off is the only way left to say that it is not whole.
    outgoing.destroy();
    return;
  }
  const problem = toProblem(error);
  outgoing.writeHead(problem.status, {
    "content-type": "application/problem+json",
    "x-request-id": requestId,
    ...(problem.status === 401 && { "www-authenticate": "Bearer" }),
  });
  outgoing.end(JSON.stringify({ ...problem, requestId }));
}
