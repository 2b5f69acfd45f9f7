/** Passes a request on to a socket or port of Restate, and its answer back. */
import {
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from "node:http";
import { pipeline } from "node:stream/promises";
import { reachAddress } from "#kernel/restate-address.ts";

export type ForwardOptions = {
  /** Address of Restate's port, with the path. */
  address: string;
  method: string;
  headers: OutgoingHttpHeaders;
  body: Buffer;
  /** For the whole of it: a call may block while a rollout runs. */
  withinMs: number;
  /** Aborted when the caller goes away. */
  signal: AbortSignal;
};

/** Asks Restate. Rejects when there is no answer. */
export function askRestate(passed: ForwardOptions): Promise<IncomingMessage> {
  const { address, method, headers, body, withinMs } = passed;
  const { url, socketPath } = reachAddress(address);
  const signal = AbortSignal.any([passed.signal, AbortSignal.timeout(withinMs)]);
  const options = { method, headers, signal, ...(socketPath !== undefined && { socketPath }) };
  return new Promise((resolve, reject) => {
    const asked = httpRequest(url, options, resolve);
    asked.once("error", reject);
    asked.end(body);
  });
}

/** With every answer: for nobody's frame, nobody's page and no other type than it says. */
export const frontHeaders = {
  "cache-control": "no-store",
  "content-security-policy": "frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

export async function passBack(answer: IncomingMessage, response: ServerResponse): Promise<void> {
  response.writeHead(answer.statusCode ?? 502, answerHeaders(answer.headers));
  await pipeline(answer, response);
}

/** What holds for one connection, or is said by us. */
const ownHeaders =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|access-control-.*|vary|cache-control)$/;

export function answerHeaders(given: IncomingHttpHeaders): OutgoingHttpHeaders {
  const kept = Object.entries(given).filter(([name]) => !ownHeaders.test(name));
  return { ...Object.fromEntries(kept), ...frontHeaders };
}

/** Neither who the caller is nor what a browser says of it: both are settled by now. Nor what it can unpack. */
const settledHeaders =
  /^(?:host|accept-encoding|authorization|cookie|origin|referer|sec-.*|content-length|expect|forwarded|via|x-forwarded-.*|x-real-ip|x-vedette-.*)$/;

export function passedHeaders(given: IncomingHttpHeaders, body: Buffer): OutgoingHttpHeaders {
  const kept = Object.entries(given).filter(
    ([name]) => !ownHeaders.test(name) && !settledHeaders.test(name),
  );
  const length = body.length > 0 ? { "content-length": body.length } : {};
  return { ...Object.fromEntries(kept), ...length, host: "localhost" };
}
