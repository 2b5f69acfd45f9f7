/** The public side of a sentinel: authenticate, forward, answer. */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
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

export function createGateway(parts: GatewayParts): Server {
  const server = createServer(
    { headersTimeout: 10_000, requestTimeout: 300_000, keepAliveTimeout: 5_000 },
    (incoming, outgoing) => {
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
  return server;
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
