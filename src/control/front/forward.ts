/** Forwards a request to a socket or port of Restate, and sends the answer back. */
import {
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from "node:http";
import { pipeline } from "node:stream/promises";
import { reachAddress } from "#kernel/restate.ts";

export type ForwardOptions = {
  /** Address of Restate's port, with the path. */
  address: string;
  method: string;
  headers: OutgoingHttpHeaders;
  body: Buffer;
  /** Timeout of the whole request: a call may block while a rollout runs. */
  withinMs: number;
  /** Aborted when the caller disconnects. */
  signal: AbortSignal;
};

/** Sends the request to Restate. Rejects when there is no answer. */
export function requestRestate(forwarded: ForwardOptions): Promise<IncomingMessage> {
  const { address, method, headers, body, withinMs } = forwarded;
  const { url, socketPath } = reachAddress(address);
  const signal = AbortSignal.any([forwarded.signal, AbortSignal.timeout(withinMs)]);
  const options = { method, headers, signal, ...(socketPath !== undefined && { socketPath }) };
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, options, resolve);
    request.once("error", reject);
    request.end(body);
  });
}

/** Sent with every response: no frames, no use by other origins, no content sniffing. */
export const frontHeaders = {
  "cache-control": "no-store",
  "content-security-policy": "frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

export async function sendAnswer(answer: IncomingMessage, response: ServerResponse): Promise<void> {
  response.writeHead(answer.statusCode ?? 502, answerHeaders(answer.headers));
  await pipeline(answer, response);
}

/** Headers that are valid for one connection only, or that we set ourselves. */
const ownHeaders =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|access-control-.*|vary|cache-control)$/;

export function answerHeaders(given: IncomingHttpHeaders): OutgoingHttpHeaders {
  const kept = Object.entries(given).filter(([name]) => !ownHeaders.test(name));
  return { ...Object.fromEntries(kept), ...frontHeaders };
}

/**
 * Headers of the request that Restate does not get: the caller's credentials and what browsers and proxies
 * add, which are checked by now, accept-encoding, and the idempotency key, which an empty header is as well.
 */
const checkedHeaders =
  /^(?:host|accept-encoding|authorization|cookie|origin|referer|sec-.*|content-length|expect|forwarded|via|x-forwarded-.*|x-real-ip|idempotency-key|x-vedette-.*)$/;

export function forwardedHeaders(given: IncomingHttpHeaders, body: Buffer): OutgoingHttpHeaders {
  const kept = Object.entries(given).filter(
    ([name]) => !ownHeaders.test(name) && !checkedHeaders.test(name),
  );
  const length = body.length > 0 ? { "content-length": body.length } : {};
  return { ...Object.fromEntries(kept), ...length, host: "localhost" };
}
