/**
 * The gateway in front of the Restate ingress, which itself asks nobody who they are. Nothing
 * reaches Restate but an authenticated, listed and well-formed call.
 */
import { createHmac, randomBytes, randomUUID } from "node:crypto";
import {
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from "fastify";
import {
  type ConsoleAccess,
  type ConsolePlugin,
  consolePath,
  livePath,
} from "#console/contract.ts";
import type { Log } from "#kernel/log.ts";
import { limitPipelines } from "#kernel/pipelines.ts";
import { ProblemError } from "#kernel/problem.ts";
import { noteAnswers } from "./answers.ts";
import { type IsKeyReused, idempotencyKey } from "./call-keys.ts";
import { recordCall } from "./call-log.ts";
import { createIngress, type Ingress, type IngressLimits } from "./ingress.ts";
import {
  createRefuse,
  noQuery,
  noSuchHandler,
  pathOf,
  refuseBrokenRequest,
  refuseForIngress,
  safetyHeaders,
  unauthorized,
} from "./refusal.ts";
import { findRoute, isBlocking, isForeignKey, isSend, type Route } from "./routes.ts";
import { bearerOf, createIdentify, type Identify, tokenMarks } from "./token.ts";

export type ControlSettings = {
  ingressUrl: string;
  ingressToken: string;
  /** Shared with the worker: callers' names are signed with it. Absent: no worker believes them. */
  actorKey?: Uint8Array;
  /** Named operators: the SHA-256 of each one's token, in hex. */
  operators?: Readonly<Record<string, string>>;
  log: Log;
  /** Whether this process is about to end, which callers are told so that they go elsewhere. */
  isLeaving?: () => boolean;
  /** Whose X-Forwarded-For is believed; absent: nobody's. */
  trustedProxies?: readonly string[];
  /** How long a caller may take to send its headers and its body. */
  receiveTimeoutMs?: number;
  /** How long a caller may be silent while its answer is sent; absent: the default. */
  silenceMs?: number;
  /** How long what is being answered may take when the gateway closes; absent: the default. */
  closeGraceMs?: number;
  /** How long Restate is waited for; absent ones are the defaults. */
  ingressLimits?: Partial<IngressLimits>;
  /** What anyone may see, without a token; absent: nothing. */
  findPublicPage?: FindPublicPage;
  /** Whether an idempotency key came with another body before; absent: nobody remembers. */
  isKeyReused?: IsKeyReused;
  /** Ways in that ask by a token of their own who it is. */
  doors?: readonly Door[];
  /** The page for people, which asks by a session of its own who they are; absent: there is none. */
  console?: ConsolePlugin;
};

/** What is served beside the gateway, to callers who are neither operators nor Restate's. */
export type Door = { isMine: (path: string) => boolean; plugin: FastifyPluginAsync };

/** The page at a path; null: there is none, and the path is treated like any other. */
type FindPublicPage = (
  path: string,
) => Promise<{ status: number; type: string; body: string } | null>;

const bodyLimitBytes = 1024 * 1024;

const healthPath = "/healthz";

/**
 * The gateway, not listening yet. `close` answers what is short, and disconnects blocked callers: what
 * they started goes on.
 */
export function createControl(settings: ControlSettings): FastifyInstance {
  const { log, receiveTimeoutMs = 10_000 } = settings;
  const ingress = createIngress({
    url: settings.ingressUrl,
    actorKey: settings.actorKey ?? randomBytes(32),
    ...settings.ingressLimits,
  });
  const identify = createIdentify(settings);
  const refuse = createRefuse(log);
  const app = fastify({
    bodyLimit: bodyLimitBytes,
    trustProxy: believed(settings),
    requestTimeout: receiveTimeoutMs,
    http: {
      headersTimeout: receiveTimeoutMs,
      connectionsCheckingInterval: 500,
      // A call may block for hours: this is how the end of a caller's machine is noticed.
      keepAlive: true,
      keepAliveInitialDelay: 30_000,
    },
    // What is not answered when the grace is over is cut off: what it started goes on.
    forceCloseConnections: true,
    return503OnClosing: false,
    genReqId: () => randomUUID(),
    clientErrorHandler: refuseBrokenRequest,
    // The router's own refusals, of an address that it cannot decode, come before every hook.
    frameworkErrors: (_error, request, reply) =>
      refuse(
        actorOf(request as FastifyRequest, identify) ? noSuchHandler() : unauthorized(),
        request as FastifyRequest,
        reply as FastifyReply,
      ),
  });
  limitPipelines(app);
  const answers = noteAnswers(app.server, { isLong, silenceMs: settings.silenceMs });
  app.addHook("preClose", () => answers.finish(settings.closeGraceMs));
  app.addHook("onClose", () => ingress.close());
  const isLeaving = () => settings.isLeaving?.() === true;
  app.addHook("onRequest", async (_, reply) => {
    if (isLeaving()) reply.header("connection", "close");
  });
  app.addHook("onRequest", async (request, reply) => {
    reply.headers(safetyHeaders).header("x-request-id", request.id);
    if (isHealthCheck(request) || hasOwnDoor(request, settings)) return;
    const page = await publicPageOf(request, settings);
    if (page !== null) return sendPage(reply, page);
    if (actorOf(request, identify) === undefined) throw unauthorized();
    requireRoute(request);
  });
  app.addHook("onResponse", async (request, reply) => {
    recordCall(log, { request, reply, actor: actorOf(request, identify) });
  });
  app.setErrorHandler((error, request, reply) => refuse(error, request, reply));
  readBodiesAsJson(app);
  app.get(healthPath, async (_, reply) =>
    isLeaving() ? reply.code(503).send({ status: "closing" }) : { status: "ok" },
  );
  if (settings.console !== undefined) {
    app.register(settings.console(lend(settings, { identify, ingress })), { prefix: consolePath });
  }
  for (const { plugin } of settings.doors ?? []) app.register(plugin);
  app.post("/*", (request, reply) => {
    const actor = actorOf(request, identify) ?? "";
    return passOn(request, reply, { ingress, actor, isKeyReused: settings.isKeyReused });
  });
  app.setNotFoundHandler((request) => {
    requireRoute(request);
  });
  return app;
}

/** Whether the answer at a path comes when a rollout stands still, or is a stream that nothing ends. */
function isLong(path: string): boolean {
  return isBlocking(path) || path === `${consolePath}${livePath}`;
}

async function publicPageOf(request: FastifyRequest, { findPublicPage }: ControlSettings) {
  if (request.method !== "GET") return null;
  return (await findPublicPage?.(pathOf(request))) ?? null;
}

/** No address is believed where no proxy is named. */
function believed({ trustedProxies = [] }: ControlSettings): string[] | false {
  return trustedProxies.length > 0 ? [...trustedProxies] : false;
}

function actorOf(request: FastifyRequest, identify: Identify): string | undefined {
  return identify(bearerOf(request.headers.authorization));
}

/** Whether somebody else asks who the caller is, wherever that is needed. */
function hasOwnDoor(request: FastifyRequest, { console, doors = [] }: ControlSettings): boolean {
  const path = pathOf(request);
  if (doors.some(({ isMine }) => isMine(path))) return true;
  return console !== undefined && (path === consolePath || path.startsWith(`${consolePath}/`));
}

/** What the console is given: who people are, and calls in their name. */
function lend(
  settings: ControlSettings,
  { identify, ingress }: { identify: Identify; ingress: Ingress },
): ConsoleAccess {
  return {
    identify,
    tokenMarks: tokenMarks(settings),
    sessionKey: createHmac("sha256", settings.ingressToken).update("vedette console").digest(),
    call: async ({ path, body, actor, idempotencyKey, blocks = false, signal }) => {
      const answer = await ingress.call({
        path,
        body,
        actor,
        idempotencyKey,
        blocks,
        signal: signal ?? new AbortController().signal,
      });
      if (answer.status >= 400) throw refuseForIngress(answer);
      return answer.body;
    },
  };
}

/** Shown inside other sites and kept by their caches for a moment. */
function sendPage(reply: FastifyReply, page: { status: number; type: string; body: string }) {
  return reply
    .code(page.status)
    .type(page.type)
    .header("cache-control", "public, max-age=10")
    .header("access-control-allow-origin", "*")
    .header("cross-origin-resource-policy", "cross-origin")
    .send(page.body);
}

function isHealthCheck(request: FastifyRequest): boolean {
  return request.method === "GET" && pathOf(request) === healthPath;
}

/** JSON and nothing else. No body at all is left to the handler's schema. */
function readBodiesAsJson(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "application/json",
    { parseAs: "string" },
    (request: FastifyRequest, body: string, done) => {
      if (body === "") done(null, undefined);
      else void parseJson(request, body, done);
    },
  );
}

/** Finds the row for a request. Throws what is wrong with its address or method. */
function requireRoute(request: FastifyRequest): Route {
  const path = pathOf(request);
  const route = findRoute(path);
  if (route === undefined) {
    throw noSuchHandler(
      isForeignKey(path) ? 'the only key of this service is "singleton"' : undefined,
    );
  }
  if (request.method !== "POST") {
    throw new ProblemError({ status: 405, code: "method_not_allowed", detail: "use POST" });
  }
  if (request.url.includes("?")) throw noQuery();
  return route;
}

type Way = { ingress: Ingress; actor: string; isKeyReused: IsKeyReused | undefined };

async function passOn(request: FastifyRequest, reply: FastifyReply, way: Way) {
  const { ingress, actor } = way;
  const route = requireRoute(request);
  const path = pathOf(request);
  // Before anything is waited for: of a caller who has left already nothing tells any more.
  const signal = signalOf(reply);
  const answer = await ingress.call({
    path,
    body: readBody(request, route, actor),
    actor,
    idempotencyKey: route.isWrite ? await idempotencyKey(request, way) : undefined,
    blocks: isBlocking(path),
    signal,
  });
  if (answer.invocationId !== undefined) reply.header("x-restate-id", answer.invocationId);
  if (answer.status >= 400) throw refuseForIngress(answer);
  return reply.code(isSend(path) ? 202 : answer.status).send(answer.body ?? null);
}

function readBody(request: FastifyRequest, route: Route, actor: string): unknown {
  const parsed = route.input.safeParse(request.body === undefined ? {} : request.body);
  if (parsed.success) return route.sign?.(parsed.data, actor) ?? parsed.data;
  const faults = parsed.error.issues.map((issue) => {
    const where = issue.path.length === 0 ? "body" : issue.path.join(".");
    return `${where}: ${issue.message}`;
  });
  throw new ProblemError({ status: 400, code: "invalid_request", detail: faults.join("\n") });
}

function signalOf(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once("close", () => controller.abort());
  return controller.signal;
}
