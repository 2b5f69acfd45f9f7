/** Passes a request on to the upstream and its answer back, as streams. */
import {
  type ClientRequest,
  Agent as HttpAgent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as requestHttp,
  type ServerResponse,
} from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { pipeline } from "node:stream/promises";
import { ProblemError } from "#kernel/problem.ts";

export type Forward = (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  extra: { keyId: string; requestId: string },
) => Promise<void>;

/** How long the upstream may be silent, before its first byte or between two. */
const upstreamSilenceMs = 60_000;

/** Headers that belong to one connection, not to the message (RFC 9110, section 7.6.1). */
const hopByHop = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Throws a `ProblemError` while nothing is answered yet: 502 for a failure, 504 for silence. */
export function createForward(upstreamUrl: string, sentinelId: string): Forward {
  const upstream = new URL(upstreamUrl);
  const isTls = upstream.protocol === "https:";
  const agent = isTls ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true });
  const send = isTls ? requestHttps : requestHttp;
  return async (incoming, outgoing, extra) => {
    const outbound = send(upstreamAddress(upstream, incoming.url ?? "/"), {
      method: incoming.method ?? "GET",
      headers: requestHeaders(incoming, { ...extra, host: upstream.host, sentinelId }),
      agent,
      timeout: upstreamSilenceMs,
    });
    outgoing.once("close", () => outbound.destroy());
    const answer = await exchange(incoming, outbound);
    outgoing.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers));
    await pipeline(answer, outgoing);
  };
}

function upstreamAddress(upstream: URL, target: string): URL {
  const { pathname, search } = new URL(target, "http://sentinel");
  const address = new URL(upstream);
  address.pathname = `${upstream.pathname.replace(/\/$/, "")}${pathname}`;
  address.search = search;
  return address;
}

/** Sends the body while the answer is awaited: an upstream may answer before it has read all. */
function exchange(incoming: IncomingMessage, outbound: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    outbound.once("response", resolve);
    outbound.once("timeout", () => {
      reject(upstreamProblem(504, "timeout", "the upstream did not answer in time"));
      outbound.destroy();
    });
    outbound.once("error", (cause) =>
      reject(upstreamProblem(502, "bad_gateway", "the upstream cannot be reached", cause)),
    );
    incoming.once("error", () => outbound.destroy());
    incoming.pipe(outbound);
  });
}

function upstreamProblem(status: number, code: string, detail: string, cause?: unknown) {
  return new ProblemError({ status, code, detail }, { cause });
}

type Extra = { keyId: string; requestId: string; host: string; sentinelId: string };

function requestHeaders(incoming: IncomingMessage, extra: Extra): OutgoingHttpHeaders {
  // The caller's key ends here: the upstream is told whose it was, not what it was.
  const { authorization: _, host = "", ...headers } = endToEnd(incoming.headers);
  const client = incoming.socket.remoteAddress ?? "";
  const chain = [incoming.headers["x-forwarded-for"], client].flat().filter(Boolean);
  return {
    ...headers,
    host: extra.host,
    via: [incoming.headers.via, `1.1 ${extra.sentinelId}`].filter(Boolean).join(", "),
    "x-forwarded-for": chain.join(", "),
    "x-forwarded-host": host,
    "x-forwarded-proto": "http",
    "x-request-id": extra.requestId,
    "x-vedette-key-id": extra.keyId,
  };
}

/** The headers of a message without those of its connection, also the ones `Connection` names. */
export function endToEnd(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const named = (headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase());
  const dropped = new Set([...hopByHop, ...named]);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.has(name)));
}
