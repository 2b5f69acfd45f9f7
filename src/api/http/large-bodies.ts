/**
 * Bodies are validated before keys, as the wire contract has it. But parsing ten megabytes of JSON takes
 * seconds, so that for large bodies the key is checked first.
 */
import type { FastifyReply, FastifyRequest, preParsingHookHandler } from "fastify";
import type { Authenticate } from "#api/access/authenticate.ts";

const withoutKeyBytes = 64 * 1024;

/** Checks the key before it reads a large body, or one of unknown length. */
export function createKeyCheck(authenticate: Authenticate): preParsingHookHandler {
  return (request, reply, payload, done) => {
    if (needsNoKey(request)) {
      done(null, payload);
      return;
    }
    checkKey(authenticate, request, reply).then(
      () => done(null, payload),
      (error: Error) => done(error),
    );
  };
}

/** Whether the body is small, or so large that it is refused unread. */
function needsNoKey({ headers, routeOptions }: FastifyRequest): boolean {
  const length = headers["content-length"];
  if (length === undefined) return headers["transfer-encoding"] === undefined;
  return Number(length) <= withoutKeyBytes || Number(length) > routeOptions.bodyLimit;
}

async function checkKey(
  authenticate: Authenticate,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  try {
    await authenticate(request.headers.authorization, Date.now(), request.ip, request.socket);
  } catch (error) {
    // Closes the connection instead of reading the rest of the body.
    reply.header("connection", "close");
    throw error;
  }
}
