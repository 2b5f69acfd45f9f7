/** Forwards a request to the upstream and the answer to the caller, as streams. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Dispatcher } from "undici";
import { ProblemError } from "#kernel/problem.ts";
import { answerHeaders, framingOf, type Origin, requestHeaders } from "./headers.ts";
import { createSendUpstream } from "./send-upstream.ts";

/** The facts that the gateway has verified about a request with a valid key. */
export type VerifiedRequest = { keyId: string; requestId: string; origin: Origin };

export type Forward = (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  accepted: VerifiedRequest,
) => Promise<void>;

/** The time for which the upstream may send nothing: between request and answer, or within the answer. */
export const upstreamSilenceMs = 60_000;

/** The longest duration of an exchange in all, even while data is flowing. */
export const exchangeLimitMs = 3_600_000;

/** Throws a `ProblemError` if the answer has not started: 502 for a failure, 504 for a timeout. */
export function createForward(
  upstreamUrl: string,
  sentinelId: string,
  silenceMs = upstreamSilenceMs,
): Forward {
  const upstream = new URL(upstreamUrl);
  const send = createSendUpstream(upstream.origin, silenceMs);
  return async (incoming, outgoing, accepted) => {
    const options = describeRequest(incoming, { ...accepted, upstream, sentinelId });
    const limits = limitExchange(incoming, outgoing, silenceMs);
    try {
      const answer = await send({ ...options, signal: limits.signal });
      limits.answered();
      const { statusCode } = answer;
      outgoing.writeHead(statusCode, answerHeaders(statusCode, answer.headers));
      await pipeline(answer.body, outgoing);
    } finally {
      limits.end();
    }
  };
}

type RequestContext = VerifiedRequest & { upstream: URL; sentinelId: string };

/** The request as the upstream gets it. Throws a 400 for an ambiguous one. */
export function describeRequest(incoming: IncomingMessage, context: RequestContext) {
  const { upstream } = context;
  const framing = framingOf(incoming);
  const target = targetOf(incoming, upstream.pathname.replace(/\/$/, ""));
  const calledHost = target.authority ?? incoming.headers.host ?? "";
  const hasBody = framing.kind !== "none";
  return {
    method: incoming.method as Dispatcher.HttpMethod,
    path: target.path,
    headers: requestHeaders(incoming, { ...context, host: upstream.host, calledHost, framing }),
    body: hasBody ? bodyOf(incoming) : null,
    // Closes the connection afterwards: a server that ignores the body would read it as the next request.
    ...(hasBody && isBodyUnusual(incoming.method) && { reset: true }),
  };
}

function isBodyUnusual(method: string | undefined): boolean {
  return !["POST", "PUT", "PATCH"].includes(method ?? "");
}

/** A stream of its own: an early answer ends it, not the caller's connection. The rest of the body is discarded. */
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
  const startWait = () => {
    silence = setTimeout(() => aborting.abort(tooSlow()), silenceMs);
  };
  // The server limits the duration of the request itself.
  if (framingOf(incoming).kind === "none") startWait();
  else incoming.once("end", startWait);
  outgoing.once("close", abort);
  const answered = () => {
    incoming.off("end", startWait);
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

/** The target of a request: it is forwarded byte by byte, or refused. */
type Target = {
  path: string;
  /** The host that the target itself names, which takes precedence over the `Host` header. */
  authority: string | undefined;
};

/** Prepends `basePath`, which has no trailing slash. Throws a 400 for an ambiguous target. */
export function targetOf({ url }: { url?: string | undefined }, basePath: string): Target {
  const { authority, path } = splitTarget(url ?? "");
  refuseAmbiguous(path);
  return { path: `${basePath}${path}`, authority };
}

/** `/path` or `http://host/path` (RFC 9112, section 3.2). OPTIONS' asterisk is refused: it is not a path. */
function splitTarget(target: string): Target {
  if (target.startsWith("/")) return { path: target, authority: undefined };
  const absolute = /^https?:\/\/([\w.:[\]-]+)([/?].*)?$/i.exec(target);
  if (absolute === null) throw badTarget("it must be a path, such as /orders?id=7");
  const rest = absolute[2] ?? "/";
  return { path: rest.startsWith("/") ? rest : `/${rest}`, authority: absolute[1] };
}

/** A path that servers read differently could bypass access rules for paths. */
function refuseAmbiguous(path: string): void {
  if (/[^!-~]|[\\#]/.test(path)) {
    throw badTarget("spaces, backslashes, # and non-ASCII characters must be percent-encoded");
  }
  const segments = (path.split("?", 1)[0] ?? "").split(/\/|%2f|%5c/i);
  if (segments.some(isDots))
    throw badTarget('send it without "." and ".." as segments of its path');
}

/** `.` or `..` in any encoding, also with parameters (`;x`), which some servers remove. */
function isDots(segment: string): boolean {
  return /^\.{1,2}$/.test((segment.split(/;|%3b/i, 1)[0] ?? "").replace(/%2e/gi, "."));
}

function badTarget(advice: string): ProblemError {
  const detail = `the target of the request is not clear: ${advice}`;
  return new ProblemError({ status: 400, code: "bad_target", detail });
}
