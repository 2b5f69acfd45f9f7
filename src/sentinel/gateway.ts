/** The public side of a sentinel: authenticate, forward, answer. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { readSecretVariable } from "#kernel/files.ts";
import { parseImageReference } from "#kernel/image-reference.ts";
import { ProblemError, toProblem } from "#kernel/problem.ts";
import { createPipelineLimit } from "#kernel/server.ts";
import type { Counters } from "./counters.ts";
import type { Forward, VerifiedRequest } from "./forward.ts";
import { originOf } from "./headers.ts";
import { answerHealth, type Health, http } from "./health.ts";
import { isTunnelRequest, type Tunnels } from "./tunnel.ts";
import type { VerifyKey } from "./verify.ts";

/** A sentinel's settings, from its environment: all users of the machine could read arguments. */
export type SentinelSettings = {
  id: string;
  region: string;
  image: string;
  publicPort: number;
  /** The public API that verifies keys, and the root key to call it with. */
  apiUrl: string;
  rootKey: string;
  /** Required from callers of the private port. */
  privateToken: string;
  /** Empty: nothing to forward to. */
  upstreamUrl: string;
  /** Addresses (CIDR) of proxies in front, whose X-Forwarded-For is trusted. */
  trustedProxies: string[];
  /** A sentinel that has not been activated by then exits, because its driver has lost it. */
  activateWithinMs: number;
};

export function readSettings(environment: NodeJS.ProcessEnv): SentinelSettings {
  const text = (name: string) => environment[`SENTINEL_${name}`] ?? "";
  const settings = {
    id: text("ID"),
    region: text("REGION"),
    image: text("IMAGE"),
    publicPort: Number(text("PUBLIC_PORT")),
    apiUrl: text("API_URL"),
    rootKey: readSecretVariable(environment, "SENTINEL_ROOT_KEY") ?? "",
    privateToken: text("PRIVATE_TOKEN"),
    upstreamUrl: text("UPSTREAM_URL"),
    trustedProxies: text("TRUSTED_PROXIES").split(",").filter(Boolean),
    activateWithinMs: Number(text("ACTIVATE_WITHIN_MS")) || 900_000,
  };
  if (settings.id === "" || settings.image === "" || !(settings.publicPort > 0)) {
    throw new Error("SENTINEL_ID, SENTINEL_IMAGE and SENTINEL_PUBLIC_PORT must be set");
  }
  return settings;
}

/** The misbehaviour of an image, by the suffix of its tag: for demonstrations and tests of rollouts. */
export type Behaviour = "normal" | "crash" | "sick" | "slow";

/** With `-half` behind the suffix only on sentinels whose id ends in an even number. */
export function behaviourOf({ image, id }: Pick<SentinelSettings, "image" | "id">): Behaviour {
  const { tag = "" } = parseImageReference(image) ?? {};
  const [, suffix, half] = /-(crash|sick|slow)(-half)?$/.exec(tag) ?? [];
  const isSpared = half !== undefined && !/[02468]$/.test(id);
  return isSpared ? "normal" : ((suffix as Behaviour | undefined) ?? "normal");
}

type GatewayParts = {
  verifyKey: VerifyKey;
  /** undefined: there is no upstream, and every request gets a 503. */
  upstream: { forward: Forward; tunnels: Tunnels } | undefined;
  health: () => Health;
  counters: Pick<Counters, "watch">;
  /** Addresses (CIDR) of proxies in front, whose X-Forwarded-For is trusted. */
  trustedProxies: readonly string[];
};

const publicHealthPath = "/.sentinel/health";

export type Gateway = {
  server: Server;
  /** Accepts no new connections; resolves when the existing ones have ended. */
  drain: () => Promise<void>;
};

/** The time for which a connection may be idle, and for which a drain waits for idle ones. */
const keepAliveTimeoutMs = 3_000;

/** A connection without any data is closed after this, which is longer than an upstream may take to answer. */
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
    // The caller then opens its next connection to another process; if we closed it, a request could fail.
    if (isDraining) outgoing.setHeader("connection", "close");
    if (incoming.url === publicHealthPath) {
      answerHealth(outgoing, parts.health());
      return;
    }
    parts.counters.watch(outgoing);
    void respond(incoming, outgoing, async (requestId) => {
      const { accepted, upstream } = await admit(parts, incoming, requestId);
      // Only now, so that callers don't send the body of a request that is refused.
      if (isContinueAwaited(incoming)) outgoing.writeContinue();
      await upstream.forward(incoming, outgoing, accepted);
    });
  };
  // An upgrade pipelined behind an unanswered request is treated as an ordinary request, because the
  // connection is still in use for earlier answers.
  const shouldUpgradeCallback = (incoming: IncomingMessage) =>
    isTunnelRequest(incoming) && pipelines.isInTurn(incoming);
  const server = http.createServer({ ...serverOptions, shouldUpgradeCallback }, answer);
  server.setTimeout(silenceTimeoutMs);
  // Unlimited, since their total size is limited: Node would drop headers beyond a maximum count, and one
  // of those could matter.
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
    // They could last for as long as their callers like. Callers reconnect to the process that serves now.
    parts.upstream?.tunnels.closeAll();
    // Not the HTTP server's own close, which destroys idle connections while a request may be arriving on
    // them. In the next turn of the event loop, so that pending connections are accepted first.
    return new Promise<void>((resolve) => {
      setImmediate(() => NetServer.prototype.close.call(server, () => resolve()));
    });
  };
  return { server, drain };
}

/** An answer on a connection that the HTTP server no longer manages; the connection ends after it. */
function answerOn(socket: Socket, incoming: IncomingMessage): ServerResponse {
  socket.on("error", () => socket.destroy());
  const outgoing = new http.ServerResponse(incoming);
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

/** Throws a `ProblemError` for a request that must not reach the upstream. */
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

/** Ends a request whose connection is closed: no close event would cancel the upstream's. Nobody reads this. */
function callerGone(): ProblemError {
  return new ProblemError({ status: 499, code: "gone", detail: "the caller is gone" });
}

/** A caller of HTTP/1.0 would read "100 Continue" as the answer (RFC 9110, section 10.1.1). */
function isContinueAwaited({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.expect !== undefined && httpVersion === "1.1";
}

/** RFC 9112, section 3.2: refuse several Host headers, or a list of hosts in one. */
function refuseUnclearHost({ headersDistinct }: IncomingMessage): void {
  const hosts = headersDistinct["host"] ?? [];
  if (hosts.length <= 1 && /^[\w.~:[\]%-]*$/.test(hosts[0] ?? "")) return;
  const detail = "send one Host header only, with a name or an address and an optional port";
  throw new ProblemError({ status: 400, code: "bad_host", detail });
}

/** The API refuses longer keys with an error that would look like a failure of the API itself. */
const longestKey = 512;

function bearerOf(incoming: IncomingMessage): string {
  const key = /^Bearer (\S+)$/i.exec(incoming.headers.authorization ?? "")?.[1];
  if (key !== undefined && key.length <= longestKey) return key;
  const detail = 'send a key as "Authorization: Bearer <key>"';
  throw new ProblemError({ status: 401, code: "unauthorized", detail });
}

/** The caller's own id when it is well formed, so that both sides use the same id. */
function requestIdOf(incoming: IncomingMessage): string {
  const given = incoming.headers["x-request-id"];
  return typeof given === "string" && /^[\w.-]{1,128}$/.test(given) ? given : randomUUID();
}

function refuse(outgoing: ServerResponse, error: unknown, requestId: string): void {
  if (outgoing.headersSent || outgoing.destroyed) {
    // The answer has started: only closing the connection shows that it is incomplete.
    outgoing.destroy();
    return;
  }
  const problem = toProblem(error);
  const isAwaited = outgoing.req.headers.expect !== undefined;
  outgoing.writeHead(problem.status, {
    "content-type": "application/problem+json",
    "x-request-id": requestId,
    ...(problem.status === 401 && { "www-authenticate": "Bearer" }),
    // Then it is uncertain where the next request on this connection starts.
    ...((problem.status === 400 || isAwaited) && { connection: "close" }),
  });
  outgoing.end(JSON.stringify({ ...problem, requestId }));
}
