/**
 * The gateway in front of the Restate ingress, which itself asks nobody who they are. Nothing
 * reaches Restate but an authenticated, listed and well-formed call.
 */
import { createHash, randomUUID } from "node:crypto";
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import type { Log } from "#kernel/log.ts";
import { describeProblem, ProblemError, toProblem } from "#kernel/problem.ts";
import { createIngress, type Ingress, type IngressAnswer } from "./ingress.ts";
import { findRoute, isForeignKey, isSend, type Route } from "./routes.ts";
import { createTokenCheck } from "./token.ts";

export type ControlSettings = {
  ingressUrl: string;
  ingressToken: string;
  log: Log;
  /** How long a caller may take to send its headers, and then its body. */
  receiveTimeoutMs?: number;
};

const bodyLimitBytes = 1024 * 1024;

const healthPath = "/healthz";

export function createControl(settings: ControlSettings): FastifyInstance {
  const { log, receiveTimeoutMs = 10_000 } = settings;
  const ingress = createIngress({ url: settings.ingressUrl });
  const isToken = createTokenCheck(settings.ingressToken);
  const app = fastify({
    bodyLimit: bodyLimitBytes,
    requestTimeout: receiveTimeoutMs,
    http: { headersTimeout: receiveTimeoutMs, connectionsCheckingInterval: 500 },
    // A blocked Rollout does not keep the program from ending: the rollout goes on without it.
    forceCloseConnections: true,
    genReqId: () => randomUUID(),
    clientErrorHandler: refuseBrokenRequest,
  });
  app.removeContentTypeParser("text/plain");
  app.addHook("onClose", () => ingress.close());
  app.addHook("onRequest", async (request, reply) => {
    reply.headers({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
    reply.header("x-request-id", request.id);
    if (pathOf(request) === healthPath) return;
    if (!isToken(request.headers.authorization)) throw unauthorized();
    requireRoute(request);
  });
  app.setErrorHandler((error, request, reply) => refuse(error, { request, reply, log }));
  app.get(healthPath, async () => ({ status: "ok" }));
  app.post("/*", (request, reply) => passOn(request, reply, ingress));
  app.setNotFoundHandler((request) => {
    requireRoute(request);
  });
  return app;
}

/** Finds the row for a request. Throws what is wrong with its path or method. */
function requireRoute(request: FastifyRequest): Route {
  const path = pathOf(request);
  const route = findRoute(path);
  if (route === undefined) {
    const detail = isForeignKey(path)
      ? 'the only key of this service is "singleton"'
      : "there is no such handler here";
    throw new ProblemError({ status: 404, code: "not_found", detail });
  }
  if (request.method === "POST") return route;
  throw new ProblemError({ status: 405, code: "method_not_allowed", detail: "use POST" });
}

async function passOn(request: FastifyRequest, reply: FastifyReply, ingress: Ingress) {
  const route = requireRoute(request);
  const path = pathOf(request);
  const answer = await ingress.call({
    path,
    body: readBody(request, route),
    actor: "ingress-token",
    idempotencyKey: route.isWrite ? idempotencyKey(request) : undefined,
    signal: signalOf(reply),
  });
  if (answer.invocationId !== undefined) reply.header("x-restate-id", answer.invocationId);
  if (answer.status >= 400) throw toRefusal(answer);
  return reply.code(isSend(path) ? 202 : answer.status).send(answer.body ?? null);
}

function readBody(request: FastifyRequest, route: Route): unknown {
  const parsed = route.input.safeParse(request.body ?? {});
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => {
    const where = issue.path.length === 0 ? "body" : issue.path.join(".");
    return `${where}: ${issue.message}`;
  });
  throw new ProblemError({ status: 400, code: "invalid_request", detail: faults.join("\n") });
}

/** The caller's own key, told apart from ours; a caller without one still gets its call made once. */
function idempotencyKey(request: FastifyRequest): string {
  const given = request.headers["idempotency-key"];
  if (typeof given !== "string" || given === "") return `control-${request.id}`;
  return `caller-${createHash("sha256").update(given).digest("hex")}`;
}

function signalOf(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once("close", () => controller.abort());
  return controller.signal;
}

/** What Restate refused, without anything of ours that its 5xx may carry. */
function toRefusal({ status, body }: IngressAnswer): Error {
  const { message, metadata } = (body ?? {}) as {
    message?: string;
    metadata?: { code?: string };
  };
  const isOurs = typeof metadata?.code === "string";
  if (status >= 500 && !isOurs) return new Error(`the handler failed with ${status}: ${message}`);
  const code = metadata?.code ?? (status === 409 ? "conflict" : "invalid_request");
  return new ProblemError({ status, code, detail: message ?? "refused" });
}

function unauthorized(): ProblemError {
  const detail = 'send the ingress token as "Authorization: Bearer <INGRESS_TOKEN>"';
  return new ProblemError({ status: 401, code: "unauthorized", detail });
}

type Refusal = { request: FastifyRequest; reply: FastifyReply; log: Log };

function refuse(error: unknown, { request, reply, log }: Refusal): void {
  if (reply.raw.destroyed) return;
  const problem = toProblem(translate(error));
  if (problem.status >= 500) {
    log.error({ err: error, requestId: request.id, path: pathOf(request) }, "call failed");
  }
  if (problem.status === 401) reply.header("www-authenticate", "Bearer");
  if (problem.status === 405) reply.header("allow", "POST");
  if (problem.status === 503) reply.header("retry-after", "5");
  reply
    .code(problem.status)
    .type("application/problem+json")
    // Callers of Restate read `message`; it says the same as `detail`.
    .send(JSON.stringify({ ...problem, message: problem.detail, requestId: request.id }));
}

const frameworkProblems: Record<number, { code: string; detail: string }> = {
  400: { code: "invalid_request", detail: "the body is not valid JSON" },
  413: { code: "payload_too_large", detail: "the body is larger than 1 MiB" },
  415: { code: "unsupported_media_type", detail: "send the body as application/json" },
};

/** The framework's own refusals, in our words. */
function translate(error: unknown): unknown {
  const status = (error as { statusCode?: number }).statusCode;
  const known = status === undefined ? undefined : frameworkProblems[status];
  if (error instanceof ProblemError || known === undefined || status === undefined) return error;
  return new ProblemError({ status, ...known });
}

/** A request that never became one: too slow, too long, or not HTTP. */
function refuseBrokenRequest(error: Error & { code?: string }, socket: Socket) {
  if (!socket.writable) return;
  const isSlow = error.code === "ERR_HTTP_REQUEST_TIMEOUT";
  const problem = isSlow
    ? { status: 408, code: "timeout", detail: "the request was not received in time" }
    : { status: 400, code: "invalid_request", detail: "this is not a valid HTTP request" };
  const body = JSON.stringify(describeProblem(problem));
  const head = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    "content-type: application/problem+json",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}

function pathOf(request: FastifyRequest): string {
  return request.url.split("?")[0] ?? "";
}
