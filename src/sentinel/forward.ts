/** Passes a request on to the upstream and its answer back, as streams. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Dispatcher } from "undici";
import { ProblemError } from "#kernel/problem.ts";
import { createAsk } from "./ask.ts";
import { framingOf } from "./framing.ts";
import { answerHeaders, requestHeaders } from "./headers.ts";
import type { Origin } from "./origin.ts";
import { targetOf } from "./target.ts";

/** What the gateway knows of a request whose key is good. */
export type VerifiedRequest = { keyId: string; requestId: string; origin: Origin };

export type Forward = (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  accepted: VerifiedRequest,
) => Promise<void>;

/** How long the upstream may be silent: after the request before its answer, or amid its answer. */
export const upstreamSilenceMs = 60_000;

/** How long an exchange may take in all, however lively it is. */
export const exchangeLimitMs = 3_600_000;

/** Throws a `ProblemError` while nothing is answered yet: 502 for a failure, 504 for silence. */
export function createForward(
  upstreamUrl: string,
  sentinelId: string,
  silenceMs = upstreamSilenceMs,
): Forward {
  const upstream = new URL(upstreamUrl);
  const ask = createAsk(upstream.origin, silenceMs);
  return async (incoming, outgoing, accepted) => {
    const options = describeRequest(incoming, { ...accepted, upstream, sentinelId });
    const limits = limitExchange(incoming, outgoing, silenceMs);
    try {
      const answer = await ask({ ...options, signal: limits.signal });
      limits.answered();
      const { statusCode } = answer;
      outgoing.writeHead(statusCode, answerHeaders(statusCode, answer.headers));
      await pipeline(answer.body, outgoing);
    } finally {
      limits.end();
    }
  };
}

type Bearings = VerifiedRequest & { upstream: URL; sentinelId: string };

/** The request as the upstream gets it. Throws a 400 for one that could be read in two ways. */
export function describeRequest(incoming: IncomingMessage, bearings: Bearings) {
  const { upstream } = bearings;
  const framing = framingOf(incoming);
  const target = targetOf(incoming, upstream.pathname.replace(/\/$/, ""));
  const calledHost = target.authority ?? incoming.headers.host ?? "";
  const hasBody = framing.kind !== "none";
  return {
    method: incoming.method as Dispatcher.HttpMethod,
    path: target.path,
    headers: requestHeaders(incoming, { ...bearings, host: upstream.host, calledHost, framing }),
    body: hasBody ? bodyOf(incoming) : null,
    // Whoever overlooks the body of such a request would take it for the next one.
    ...(hasBody && isBodyUnusual(incoming.method) && { reset: true }),
  };
}

function isBodyUnusual(method: string | undefined): boolean {
  return !["POST", "PUT", "PATCH"].includes(method ?? "");
}

/**
 * A stream of its own: an upstream that answers before it has read everything ends this one, and not
 * the connection on which its answer is still to go out. What is left is read and thrown away.
 */
function bodyOf(incoming: IncomingMessage): PassThrough {
  const body = new PassThrough();
  body.on("error", () => {});
  body.once("close", () => {
    incoming.unpipe(body);
    incoming.resume();
  });
  incoming.once("close", () => {
    if (!incoming.complete) body.destroy();
  });
  return incoming.pipe(body);
}

function limitExchange(incoming: IncomingMessage, outgoing: ServerResponse, silenceMs: number) {
  const aborting = new AbortController();
  const abort = () => aborting.abort();
  const whole = setTimeout(abort, exchangeLimitMs);
  let silence: NodeJS.Timeout | undefined;
  const listen = () => {
    silence = setTimeout(() => aborting.abort(tooSlow()), silenceMs);
  };
  // How long the request itself may take is the server's limit.
  if (framingOf(incoming).kind === "none") listen();
  else incoming.once("end", listen);
  outgoing.once("close", abort);
  const answered = () => {
    incoming.off("end", listen);
    clearTimeout(silence);
  };
  const end = () => {
    answered();
    clearTimeout(whole);
  };
  return { signal: aborting.signal, answered, end };
}

export function tooSlow(): ProblemError {
  const detail = "the upstream did not answer in time";
  return new ProblemError({ status: 504, code: "timeout", detail });
}
