/** The headers of a request as its upstream gets them, and of an answer as its caller does. */
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import type { Framing } from "./framing.ts";
import type { Origin } from "./origin.ts";

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

/**
 * Headers of a request that are ours to say, or not for the upstream: the caller's key ends here. Of
 * `Forwarded` and the like a caller could make up where it comes from; `Proxy` is a setting of many a
 * CGI program.
 */
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

export type Extra = {
  keyId: string;
  requestId: string;
  sentinelId: string;
  origin: Origin;
  /** Of the upstream. */
  host: string;
  /** What the caller calls us. */
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

/** A name that a server could take for one of ours counts as ours: to many, `_` and `-` are the same. */
function callersOwn(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const kept = Object.entries(endToEnd(headers)).filter(([name]) => {
    const canonical = name.replace(/[^a-z0-9]/g, "-");
    return !ownNames.has(canonical) && !ownPrefix.test(canonical);
  });
  return Object.fromEntries(kept);
}

/** The headers of an answer; one of status 204 says nothing of a body. */
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

/** The headers of a message without those of its connection, also the ones `Connection` names. */
export function endToEnd(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const named = [headers.connection ?? []].flat().join(",").toLowerCase().split(",");
  const dropped = new Set([...hopByHop, ...named.map((name) => name.trim())]);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.has(name)));
}
