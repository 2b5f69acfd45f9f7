/**
 * Bodies are looked at before keys, as the wire contract has it; but to read ten megabytes of JSON
 * takes seconds of a process, which nobody gets who has no key.
 */
import type { FastifyReply, FastifyRequest, preParsingHookHandler } from "fastify";
import type { Authenticate } from "#api/access/authenticate.ts";

const unaskedBytes = 64 * 1024;

/** Asks for the key before a large body, or one that does not say how large it is, is read. */
export function createAskFirst(authenticate: Authenticate): preParsingHookHandler {
  return (request, reply, payload, done) => {
    if (needsNoKey(request)) {
      done(null, payload);
      return;
    }
    askKey(authenticate, request, reply).then(
      () => done(null, payload),
      (error: Error) => done(error),
    );
  };
}

/** Whether it is small, or so large that it is refused unread. */
function needsNoKey({ headers, routeOptions }: FastifyRequest): boolean {
  const length = headers["content-length"];
  if (length === undefined) return headers["transfer-encoding"] === undefined;
  return Number(length) <= unaskedBytes || Number(length) > routeOptions.bodyLimit;
}

async function askKey(
  authenticate: Authenticate,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  try {
    await authenticate(request.headers.authorization, Date.now(), request.ip);
  } catch (error) {
    // The rest of the body is not waited for.
    reply.header("connection", "close");
    throw error;
  }
}
