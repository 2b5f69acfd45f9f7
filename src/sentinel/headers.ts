/** The headers of requests to the upstream and of answers to the caller. */
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { clientOf, hopsOf, isListed } from "#kernel/address.ts";
import { ProblemError } from "#kernel/problem.ts";

type Framing = { kind: "none" } | { kind: "chunked" } | { kind: "length"; bytes: number };

type Head = Pick<IncomingMessage, "headers" | "httpVersion">;

/** Throws a 400 for a framing that servers may read differently. */
export function framingOf({ headers, httpVersion }: Head): Framing {
  const coding = headers["transfer-encoding"];
  const length = headers["content-length"];
  if (coding !== undefined) {
    if (length !== undefined) throw badFraming("Transfer-Encoding comes without Content-Length");
    if (httpVersion !== "1.1") throw badFraming("Transfer-Encoding needs HTTP/1.1");
    if (coding.toLowerCase() !== "chunked") throw badFraming('Transfer-Encoding must be "chunked"');
    return { kind: "chunked" };
  }
  if (length === undefined) return { kind: "none" };
  if (!/^\d{1,15}$/.test(length)) throw badFraming("Content-Length must be one whole number");
  const bytes = Number(length);
  return bytes === 0 ? { kind: "none" } : { kind: "length", bytes };
}

function badFraming(rule: string): ProblemError {
  const detail = `it is not clear where the body of the request ends: ${rule}`;
  return new ProblemError({ status: 400, code: "bad_framing", detail });
}

/** The origin of a request: the peer's address, and what trusted proxies in front report. */
export type Origin = {
  /** The caller's address, "unknown" if a trusted proxy names none. */
  client: string;
  /** `X-Forwarded-For` for the upstream: the received value and the peer's address. */
  chain: string;
  isProxied: boolean;
};

/** `trustedProxies`: addresses or ranges whose `X-Forwarded-For` is trusted. */
export function originOf(
  request: Parameters<typeof hopsOf>[0],
  trustedProxies: readonly string[],
): Origin {
  const hops = hopsOf(request);
  return {
    client: clientOf(hops, trustedProxies),
    chain: hops.join(", "),
    isProxied: isListed(trustedProxies, hops.at(-1) ?? ""),
  };
}

/** Headers that belong to one connection, not to the message (RFC 9110, section 7.6.1). */
const hopByHop = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

/** Set by us, or not for the upstream, such as the key. `Forwarded` could fake an address; CGI reads `Proxy`. */
const ownNames = new Set([
  ...hopByHop,
  "authorization",
  "content-length",
  "expect",
  "forwarded",
  "host",
  "proxy",
  "via",
  "x-real-ip",
  "x-request-id",
]);

const ownPrefix = /^x-(vedette|forwarded)-/;

type Extra = {
  keyId: string;
  requestId: string;
  sentinelId: string;
  origin: Origin;
  host: string;
  calledHost: string;
  framing: Framing;
};

export function requestHeaders(incoming: IncomingMessage, extra: Extra): OutgoingHttpHeaders {
  const { headers } = incoming;
  const { framing, origin } = extra;
  const proxied = origin.isProxied ? headers : {};
  return {
    ...callersOwn(headers),
    host: extra.host,
    ...(framing.kind === "length" && { "content-length": String(framing.bytes) }),
    via: [headers.via, `1.1 ${extra.sentinelId}`].filter(Boolean).join(", "),
    "x-forwarded-for": origin.chain,
    "x-forwarded-host": proxied["x-forwarded-host"] ?? extra.calledHost,
    "x-forwarded-proto": proxied["x-forwarded-proto"] ?? "http",
    "x-request-id": extra.requestId,
    "x-vedette-key-id": extra.keyId,
  };
}

/** Also drops names that a server may treat like one of ours: many treat `_` and `-` alike. */
function callersOwn(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const kept = Object.entries(endToEnd(headers)).filter(([name]) => {
    const canonical = name.replace(/[^a-z0-9]/g, "-");
    return !ownNames.has(canonical) && !ownPrefix.test(canonical);
  });
  return Object.fromEntries(kept);
}

/** The headers of an answer; one with status 204 must not have a content length. */
export function answerHeaders(
  statusCode: number,
  headers: IncomingHttpHeaders,
): OutgoingHttpHeaders {
  const { "content-length": length, ...rest } = endToEnd(headers);
  return {
    ...rest,
    ...(length !== undefined && statusCode !== 204 && { "content-length": length }),
  };
}

/** The headers of a message without the hop-by-hop ones, including those that `Connection` names. */
export function endToEnd(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const named = [headers.connection ?? []].flat().join(",").toLowerCase().split(",");
  const dropped = new Set([...hopByHop, ...named.map((name) => name.trim())]);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.has(name)));
}
