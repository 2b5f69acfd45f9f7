/** The public side of a sentinel: authenticate, forward, answer. */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, ServerResponse } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { createPipelineLimit } from "#kernel/pipelines.ts";
import { ProblemError, toProblem } from "#kernel/problem.ts";
import type { Forward, VerifiedRequest } from "./forward.ts";
import { answerHealth, type Health } from "./health.ts";
import { originOf } from "./origin.ts";
import { asksForTunnel, type Tunnels } from "./tunnel.ts";
import type { VerifyKey } from "./verify.ts";

export type GatewayParts = {
  verifyKey: VerifyKey;
  /** undefined: there is no upstream, which every request is told. */
  upstream: { forward: Forward; tunnels: Tunnels } | undefined;
  health: () => Health;
  /** Addresses (CIDR) of proxies in front, whose X-Forwarded-For is believed. */
  trustedProxies: readonly string[];
};

const publicHealthPath = "/.sentinel/health";

export type Gateway = {
  server: Server;
  /** Takes no new connections; resolves once those that there are have ended. */
  drain: () => Promise<void>;
};

/** How long a connection may be idle: also how long a drain waits for those that stay so. */
const keepAliveTimeoutMs = 3_000;

/** A connection on which neither side sends anything is given up: longer than an upstream may think. */
const silenceTimeoutMs = 150_000;

const serverOptions = {
  headersTimeout: 10_000,
  requestTimeout: 300_000,
  keepAliveTimeout: keepAliveTimeoutMs,
};

export function createGateway(parts: GatewayParts): Gateway {
  let isDraining = false;
  const pipelines = createPipelineLimit();
  const answer = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    if (!pipelines.admit(incoming, outgoing)) return;
    // Told with an answer, a caller opens its next connection elsewhere; cut off, it would fail.
    if (isDraining) outgoing.setHeader("connection", "close");
    if (incoming.url === publicHealthPath) {
      answerHealth(outgoing, parts.health());
      return;
    }
    void respond(incoming, outgoing, async (requestId) => {
      const { accepted, upstream } = await admit(parts, incoming, requestId);
      // Only now: the body of a request that is refused need not be sent.
      if (isContinueAwaited(incoming)) outgoing.writeContinue();
      await upstream.forward(incoming, outgoing, accepted);
    });
  };
  // Sent ahead of an answer it is a request like any other: the connection is not free for its own yet.
  const shouldUpgradeCallback = (incoming: IncomingMessage) =>
    asksForTunnel(incoming) && pipelines.isInTurn(incoming);
  const server = createServer({ ...serverOptions, shouldUpgradeCallback }, answer);
  server.setTimeout(silenceTimeoutMs);
  // Their size is limited. To leave some of them out could leave out the one that counts.
  server.maxHeadersCount = 0;
  server.on("checkContinue", answer);
  server.on("upgrade", (incoming, duplex, head) => {
    const socket = duplex as Socket;
    const outgoing = answerOn(socket, incoming);
    void respond(incoming, outgoing, async (requestId) => {
      const { accepted, upstream } = await admit(parts, incoming, requestId);
      await upstream.tunnels.open({ incoming, socket, head, outgoing }, accepted);
    });
  });
  const drain = () => {
    isDraining = true;
    // They would last for as long as their callers like, who connect anew to whoever serves now.
    parts.upstream?.tunnels.closeAll();
    // Not the HTTP server's own close: that cuts off idle connections, on which a request may just be
    // under way. In the next turn, so that what has connected already is accepted first.
    return new Promise<void>((resolve) => {
      setImmediate(() => NetServer.prototype.close.call(server, () => resolve()));
    });
  };
  return { server, drain };
}

/** An answer on a connection that the HTTP server no longer manages; it is the last one there. */
function answerOn(socket: Socket, incoming: IncomingMessage): ServerResponse {
  socket.on("error", () => socket.destroy());
  const outgoing = new ServerResponse(incoming);
  outgoing.shouldKeepAlive = false;
  outgoing.assignSocket(socket);
  outgoing.once("finish", () => socket.destroySoon());
  return outgoing;
}

async function respond(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  work: (requestId: string) => Promise<void>,
): Promise<void> {
  const requestId = requestIdOf(incoming);
  try {
    await work(requestId);
  } catch (error) {
    refuse(outgoing, error, requestId);
  }
}

/** Throws a `ProblemError` for what must not go on to the upstream. */
async function admit(
  { verifyKey, upstream, trustedProxies }: GatewayParts,
  incoming: IncomingMessage,
  requestId: string,
): Promise<{ accepted: VerifiedRequest; upstream: NonNullable<GatewayParts["upstream"]> }> {
  refuseUnclearHost(incoming);
  const origin = originOf(incoming, trustedProxies);
  const { keyId } = await verifyKey(bearerOf(incoming), origin.client);
  if (incoming.socket.destroyed) throw callerGone();
  if (upstream === undefined) {
    const detail = "this sentinel has no upstream to forward to";
    throw new ProblemError({ status: 503, code: "unavailable", detail });
  }
  return { accepted: { keyId, requestId, origin }, upstream };
}

/** Read by nobody. Of what has closed already nothing would tell the upstream that it has. */
function callerGone(): ProblemError {
  return new ProblemError({ status: 499, code: "gone", detail: "the caller is gone" });
}

/** Whoever speaks HTTP/1.0 would take it for the answer (RFC 9110, section 10.1.1). */
function isContinueAwaited({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.expect !== undefined && httpVersion === "1.1";
}

/** RFC 9112, section 3.2: the first of two hosts is no better than the second, nor is a list of them. */
function refuseUnclearHost({ headersDistinct }: IncomingMessage): void {
  const hosts = headersDistinct["host"] ?? [];
  if (hosts.length <= 1 && /^[\w.~:[\]%-]*$/.test(hosts[0] ?? "")) return;
  const detail = "send one Host header only, with a name or an address and perhaps a port";
  throw new ProblemError({ status: 400, code: "bad_host", detail });
}

/** Longer ones the API does not even look at, and says so in a way that seems its own fault. */
const longestKey = 512;

function bearerOf(incoming: IncomingMessage): string {
  const key = /^Bearer (\S+)$/i.exec(incoming.headers.authorization ?? "")?.[1];
  if (key !== undefined && key.length <= longestKey) return key;
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
  const isAwaited = outgoing.req.headers.expect !== undefined;
  outgoing.writeHead(problem.status, {
    "content-type": "application/problem+json",
    "x-request-id": requestId,
    ...(problem.status === 401 && { "www-authenticate": "Bearer" }),
    // After this it is not sure where the next request begins.
    ...((problem.status === 400 || isAwaited) && { connection: "close" }),
  });
  outgoing.end(JSON.stringify({ ...problem, requestId }));
}
