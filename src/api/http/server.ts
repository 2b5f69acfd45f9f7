/** The public API's HTTP side: `/v2/{service}.{procedure}`. */
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import type { Registry } from "prom-client";
import { mountDocs } from "#api/docs/routes.ts";
import { ApiError, errorBody } from "#api/error.ts";
import { openFastLane } from "#api/http/fast-lane/fast-lane.ts";
import { createFastRoutes, type TrustProxy } from "#api/http/fast-lane/request.ts";
import { newId } from "#api/ids.ts";
import { callerGone, countRequests } from "#api/metrics.ts";
import type { Procedure, Procedures } from "#api/procedure.ts";
import { readRequestBody } from "#kernel/body.ts";
import type { Log } from "#kernel/log.ts";
import { endWith, limitPipelines, pathOf } from "#kernel/server.ts";
import { type AnsweringParts, unreadableBody } from "./answering.ts";
import { answerRefusals, createRefuse } from "./refusal.ts";
import { mountProcedures } from "./router.ts";
import { createDeadlines } from "./time-limit.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Set on the routes of procedures. */
    procedure?: Procedure;
  }
}

/**
 * Limits of the wire contract: 10 MiB of body, 10 s to receive a request, a minute to answer it. A
 * connection that is idle for longer than any of these is closed, so that answers to a client that does
 * not read them do not pile up in memory.
 */
const bodyLimitBytes = 10 * 1024 * 1024;
const limits = { receiveTimeoutMs: 10_000, answerTimeoutMs: 60_000, idleTimeoutMs: 80_000 };

export type ServerParts = Omit<AnsweringParts, "deadlines" | "refuse"> & {
  log: Log;
  /** Base of the error codes' pages, no trailing slash; empty: on this server. */
  docsUrl: string;
  trustProxy: TrustProxy;
  namespaces: Record<string, Procedures>;
  registry?: Registry;
  /** A log line per request. */
  logsRequests?: boolean;
  /** True if usual requests are answered before they reach Fastify (`fast-lane/`); not those that are logged. */
  hasFastLane?: boolean;
  /** True if this process is about to end: answers then close their connection, so that callers reconnect. */
  isLeaving?: () => boolean;
  /** Replaces limits of the contract, for tests. */
  limits?: Partial<typeof limits>;
};

/** The API, not listening yet: the caller calls `listen` and `close`. CORS is off. */
export function createServer(parts: ServerParts): FastifyInstance {
  const { receiveTimeoutMs, answerTimeoutMs, idleTimeoutMs } = { ...limits, ...parts.limits };
  const app = fastify({
    bodyLimit: bodyLimitBytes,
    requestTimeout: receiveTimeoutMs,
    connectionTimeout: idleTimeoutMs,
    http: { headersTimeout: receiveTimeoutMs, connectionsCheckingInterval: 500 },
    // Closing lets requests in flight finish, even those that arrive on a keep-alive connection.
    forceCloseConnections: "idle",
    return503OnClosing: false,
    clientErrorHandler: createRefuseBrokenRequest(parts.docsUrl),
    // A URL that cannot be decoded; no hook is called for it.
    frameworkErrors: (_error, _request, reply) =>
      (reply as FastifyReply).code(400).type("text/plain").send("400 bad request\n"),
    trustProxy: parts.trustProxy,
    genReqId: () => newId("request"),
  });
  limitPipelines(app);
  boundBodies(app, bodyLimitBytes);
  // Before the first route is mounted, so that all are counted.
  const counterOf = parts.registry && countRequests(app, parts.registry);
  if (parts.logsRequests === true) logRequests(app, parts.log);
  const { isLeaving = () => false } = parts;
  app.addHook("onRequest", (_, reply, done) => {
    if (isLeaving()) reply.header("connection", "close");
    done();
  });
  app.get("/v2/liveness", async (request, reply) => {
    if (isLeaving()) reply.code(503);
    return livenessBody(request.id, isLeaving());
  });
  const refuse = createRefuse(parts);
  answerRefusals(app, refuse);
  const deadlines = createDeadlines(answerTimeoutMs);
  const routes = mountProcedures(app, parts.namespaces, { ...parts, deadlines, refuse });
  if (parts.hasFastLane === true && parts.logsRequests !== true) {
    const { trustProxy } = parts;
    const usual = createFastRoutes(routes, counterOf);
    openFastLane(app, { routes: usual, trustProxy, isLeaving, receiveTimeoutMs });
  }
  mountDocs(app, parts.namespaces);
  return app;
}

/** The body of `GET /v2/liveness`: that this process serves. It checks nothing else, to be quick. */
function livenessBody(requestId: string, isLeaving: boolean) {
  return { meta: { requestId }, data: { message: isLeaving ? "we're closing" : "we're cooking" } };
}

const longestPath = 200;

/** One line per request: never a body, a header or a query, which may all hold secrets. */
function logRequests(app: FastifyInstance, log: Log): void {
  app.addHook("onRequest", (request, reply, done) => {
    const startedAtMs = performance.now();
    // Fastify does not call `onResponse` when the caller has closed the connection.
    reply.raw.on("close", () => {
      const durationMs = Math.round((performance.now() - startedAtMs) * 10) / 10;
      log.info({ ...fieldsOf(request, reply), durationMs }, "request answered");
    });
    done();
  });
}

function fieldsOf(request: FastifyRequest, reply: FastifyReply) {
  return {
    requestId: request.id,
    method: request.method,
    path: pathOf(request).slice(0, longestPath),
    status: reply.raw.writableFinished ? reply.statusCode : callerGone,
    remote: request.ip,
  };
}

/** Answers on the bare connection and closes it. `docsUrl` as in `errorBody`. */
function createRefuseBrokenRequest(docsUrl: string) {
  return (error: Error & { code?: string }, socket: Socket): void => {
    if (error.code === "ECONNRESET" || !socket.writable) {
      socket.destroy();
      return;
    }
    const { status, refusal } = refusalOf(error.code);
    const to = { requestId: newId("request"), docsUrl };
    const body = errorBody(refusal, to);
    const text = JSON.stringify({ ...body, error: { ...body.error, status } });
    endWith(socket, toHttp(status, text));
  };
}

const headersTooLarge = 431;

function refusalOf(code: string | undefined): { status: number; refusal: ApiError } {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    const detail = "The request was not received in time.";
    return { status: 408, refusal: new ApiError("user/bad_request/request_timeout", detail) };
  }
  const isTooLarge = code === "HPE_HEADER_OVERFLOW";
  const detail = isTooLarge
    ? "The headers of the request are too large."
    : "The request is not valid HTTP.";
  return {
    status: isTooLarge ? headersTooLarge : 400,
    refusal: new ApiError("user/bad_request/request_body_unreadable", detail),
  };
}

function toHttp(status: number, body: string): string {
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
    "",
    body,
  ].join("\r\n");
}

/** Values in a body's JSON: each becomes an object, and 6 MB of empty lists take seconds. Real bodies have fewer. */
const maxValues = 500_000;

/** Parses bodies by Fastify's parser, unless they have too many values. Metadata may have any names, "__proto__" too. */
function boundBodies(app: FastifyInstance, maxBytes: number): void {
  const parse = app.getDefaultJsonParser("ignore", "ignore");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", (request: FastifyRequest, payload, done) => {
    // No key is asked for there.
    if (request.is404) return done(null);
    readRequestBody(payload, maxBytes).then((body) => {
      if (hasTooManyValues(body)) done(tooManyValues(request));
      else void parse(request, body.toString(), done);
    }, done);
  });
}

function tooManyValues({ routeOptions: { url = "" } }: FastifyRequest) {
  const message = `more than ${maxValues} values are too many at once; send fewer`;
  return unreadableBody(url, [{ location: "/", message }]);
}

const quote = 0x22;
const backslash = 0x5c;

/** The bytes that may precede a value: `,`, `[` and `{`. */
const isBeforeValue = new Uint8Array(256);
for (const byte of [0x2c, 0x5b, 0x7b]) isBeforeValue[byte] = 1;

/** Skips strings. Invalid JSON is left to the parser. */
export function hasTooManyValues(json: Buffer): boolean {
  if (json.length <= maxValues) return false;
  let values = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] as number;
    if (byte === quote) at = endOfText(json, at);
    values += isBeforeValue[byte] as number;
    if (values > maxValues) return true;
  }
  return false;
}

/** The index of the closing quote of the string that begins at `start`. */
function endOfText(json: Buffer, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1;
  return at;
}
