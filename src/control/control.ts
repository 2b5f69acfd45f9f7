/** The gateway in front of the Restate ingress: only authenticated, listed and well-formed calls reach Restate. */
import { randomBytes, randomUUID } from "node:crypto";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import type { Registry } from "prom-client";
import { type ConsolePlugin, consolePath, livePath } from "#console/contract.ts";
import type { FleetOperators } from "#fleet/contract.ts";
import type { RecordAccess } from "#kernel/audit.ts";
import { parseBody } from "#kernel/faults.ts";
import type { Log } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";
import type { Caller } from "#kernel/roles.ts";
import { limitPipelines, pathOf } from "#kernel/server.ts";
import { readTrace } from "#kernel/tracing.ts";
import { type IsKeyReused, idempotencyKey } from "./call-keys.ts";
import { createCiDoor } from "./ci-trust/door.ts";
import type { CiJobs } from "./ci-trust/jobs.ts";
import type { Operator } from "./config.ts";
import { consoleAccess } from "./console-access.ts";
import { createIngress, type Ingress, type IngressLimits } from "./ingress.ts";
import { bodyLimitBytes, readBodiesAsJson } from "./json-bodies.ts";
import { timeCalls } from "./metrics.ts";
import { endWithCaller, trackResponses } from "./open-responses.ts";
import {
  type Call,
  createRefuse,
  noQuery,
  noSuchHandler,
  recordCall,
  refuseBrokenRequest,
  refuseForIngress,
  remoteOf,
  requireAccess,
  requireFleet,
  safetyHeaders,
  toAccess,
  unauthorized,
} from "./refusal.ts";
import { findRoute, isBlocking, isRecorded, isSend, type Route, signedName } from "./routes.ts";
import { type Door, serveShortAnswers } from "./short-answers.ts";
import { createSignInDoor } from "./sign-in/door.ts";
import type { SignIn } from "./sign-in/sign-in.ts";
import { createFindCaller, createIdentify, createRequestCallers, type Identify } from "./token.ts";

export type ControlSettings = {
  ingressUrl: string;
  ingressToken: string;
  /** Shared with the worker: callers' names are signed with it. Absent: workers ignore the names. */
  actorKey?: Uint8Array;
  /** Named operators: the SHA-256 of each one's token, in hex, and what each may do. */
  operators?: Readonly<Record<string, Operator>>;
  log: Log;
  /** Has how long calls take; absent: they are not measured. */
  registry?: Registry;
  /** True if this process is about to end: responses then close the connection, so that clients move on. */
  isLeaving?: () => boolean;
  /** The proxies whose X-Forwarded-For is trusted; absent: none. */
  trustedProxies?: readonly string[];
  /** Limit of the time in which a caller sends its headers and its body. */
  receiveTimeoutMs?: number;
  /** Longest silence of a connection while a response is sent; absent: the default. */
  silenceMs?: number;
  /** Closing waits so long for short responses; absent: the default. */
  closeGraceMs?: number;
  /** Fails with a `HungError` when the database, for which handlers wait, hangs; absent: nobody asks it. */
  askDatabase?: () => Promise<unknown>;
  /** Timeouts of calls to Restate; absent ones are the defaults. */
  ingressLimits?: Partial<IngressLimits>;
  /** The fleets that name their operators, or not; absent: the default one alone. */
  fleets?: readonly FleetOperators[];
  /** Pages that need no token; absent: there are none. */
  findPublicPage?: FindPublicPage;
  /** True if an idempotency key came with another body before; absent: bodies are not compared. */
  isKeyReused?: IsKeyReused;
  doors?: readonly Door[];
  /** Signing in at an identity provider; absent: callers have tokens only. */
  signIn?: SignIn | undefined;
  /** Jobs of CI that call without a secret; absent: none do. */
  ciJobs?: CiJobs | undefined;
  /** Records calls before they are forwarded; absent: they are not recorded. */
  record?: RecordAccess;
  /** The console, which authenticates people by a session of its own; absent: there is none. */
  console?: ConsolePlugin;
};

/** The page at a path; null: there is none, and the path is handled like any other. */
type FindPublicPage = (
  path: string,
) => Promise<{ status: number; type: string; body: string | Buffer } | null>;

const healthPath = "/healthz";

/** Not listening yet. `close` finishes short responses and disconnects blocked callers, whose work continues. */
export function createControl(settings: ControlSettings): FastifyInstance {
  const { log, receiveTimeoutMs = 10_000, trustedProxies = [], signIn } = settings;
  const ingress = openIngress(settings);
  const identify = createIdentify(settings);
  const callers = openCallers(settings, identify);
  const doors = openDoors(settings, identify);
  const refuse = createRefuse(log);
  const isLeaving = () => settings.isLeaving?.() === true;
  const app = fastify({
    bodyLimit: bodyLimitBytes,
    trustProxy: trustedProxiesOf(settings),
    requestTimeout: receiveTimeoutMs,
    http: serverOptions(receiveTimeoutMs),
    // Connections without a response after the grace are closed; the work that they started continues.
    forceCloseConnections: true,
    return503OnClosing: false,
    genReqId: () => randomUUID(),
    clientErrorHandler: refuseBrokenRequest,
    // The router refuses an address that it cannot decode before any hook runs.
    frameworkErrors: async (_error, given, reply) => {
      const request = given as FastifyRequest;
      const isKnown = (await callers.find(request)) !== undefined;
      refuse(isKnown ? noSuchHandler() : unauthorized(), request, reply as FastifyReply);
    },
  });
  serveShortAnswers({ server: app.server, doors, isLeaving, log, trustedProxies });
  limitPipelines(app);
  const responses = trackResponses(app.server, { isLong, silenceMs: settings.silenceMs });
  app.addHook("preClose", () => responses.finish(settings.closeGraceMs));
  app.addHook("onClose", () => ingress.close());
  app.addHook("onRequest", async (_, reply) => {
    if (isLeaving()) reply.header("connection", "close");
  });
  app.addHook("onRequest", async (request, reply) => {
    reply.headers(safetyHeaders).header("x-request-id", request.id);
    if (isHealthCheck(request) || hasOwnDoor(request, settings, doors)) return;
    const page = await publicPageOf(request, settings);
    if (page !== null) return sendPage(reply, page);
    const caller = await callers.find(request);
    if (caller === undefined) throw unauthorized();
    requireAccess(caller, {
      route: requireRoute(request, settings),
      path: pathOf(request),
      fleets: settings.fleets,
    });
  });
  app.addHook("onResponse", async (request, reply) => {
    const remote = remoteOf(request.raw, trustedProxies);
    const call = { ...toCall(request, reply), remote, actor: callers.of(request)?.actor };
    recordCall(log, call, settings.record);
  });
  app.setErrorHandler((error, request, reply) => refuse(error, request, reply));
  readBodiesAsJson(app);
  app.get(healthPath, async (_, reply) =>
    isLeaving() ? reply.code(503).send({ status: "closing" }) : { status: "ok" },
  );
  if (settings.console !== undefined) {
    const access = consoleAccess(settings, { identify, ingress, log, provider: signIn?.console });
    app.register(settings.console(access), { prefix: consolePath });
    app.get("/", (_, reply) => reply.redirect(consolePath));
  }
  for (const { plugin } of doors) app.register(plugin);
  app.post("/*", (request, reply) => {
    const caller = callers.of(request) ?? { actor: "", roles: [] };
    if (isBlocking(pathOf(request))) endWithCaller(reply.raw, () => callers.find(request));
    return forward(request, reply, { ...caller, ingress, settings });
  });
  app.setNotFoundHandler((request) => {
    requireRoute(request, settings);
  });
  return app;
}

/** Callers have a token, the session of a CI job, or one of signing in. */
function openCallers({ signIn, ciJobs }: ControlSettings, identify: Identify) {
  const findSession = async (bearer: string) =>
    ciJobs?.find(bearer) ?? (await signIn?.find(bearer));
  return createRequestCallers(createFindCaller(identify, findSession, signIn?.link));
}

function openDoors({ doors = [], signIn, ciJobs }: ControlSettings, identify: Identify): Door[] {
  const signInDoor = createSignInDoor({ signIn, identify, findJob: ciJobs?.find });
  return [...doors, signInDoor, createCiDoor(ciJobs)];
}

function toCall(request: FastifyRequest, reply: FastifyReply): Omit<Call, "remote"> {
  return {
    requestId: request.id,
    path: pathOf(request),
    status: reply.statusCode,
    isSent: reply.raw.writableFinished,
    durationMs: reply.elapsedTime,
  };
}

function serverOptions(headersTimeout: number) {
  return {
    headersTimeout,
    connectionsCheckingInterval: 500,
    // A call may block for hours: TCP keep-alive detects that the caller's machine is gone.
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
  };
}

function openIngress({ registry, ...settings }: ControlSettings): Ingress {
  const ingress = createIngress({
    url: settings.ingressUrl,
    actorKey: settings.actorKey ?? randomBytes(32),
    askDatabase: settings.askDatabase,
    ...settings.ingressLimits,
  });
  return registry === undefined ? ingress : timeCalls(ingress, registry);
}

/** True if a path responds only when a rollout has stopped or paused, or is an endless stream. */
function isLong(path: string): boolean {
  return isBlocking(path) || path === `${consolePath}${livePath}`;
}

async function publicPageOf(request: FastifyRequest, { findPublicPage }: ControlSettings) {
  if (request.method !== "GET") return null;
  return (await findPublicPage?.(pathOf(request))) ?? null;
}

/** Returns the trusted proxies; without them X-Forwarded-For is ignored. */
function trustedProxiesOf({ trustedProxies = [] }: ControlSettings): string[] | false {
  return trustedProxies.length > 0 ? [...trustedProxies] : false;
}

/** True if a door or the console authenticates the caller of this path, and not the gateway. */
function hasOwnDoor(
  request: FastifyRequest,
  { console }: ControlSettings,
  doors: readonly Door[],
): boolean {
  const path = pathOf(request);
  if (doors.some(({ isMine }) => isMine(path))) return true;
  if (console === undefined) return false;
  const isHome = path === "/" && ["GET", "HEAD"].includes(request.method);
  return isHome || path === consolePath || path.startsWith(`${consolePath}/`);
}

/** Other sites may embed the page, and caches keep it for ten seconds. */
function sendPage(reply: FastifyReply, page: NonNullable<Awaited<ReturnType<FindPublicPage>>>) {
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

/** Finds the row for a request. Throws a problem for a wrong address or method. */
function requireRoute(request: FastifyRequest, { fleets }: Pick<ControlSettings, "fleets">): Route {
  const path = pathOf(request);
  const route = findRoute(path);
  if (route === undefined) throw noSuchHandler();
  requireFleet(path, fleets);
  if (request.method !== "POST") {
    throw new ProblemError({ status: 405, code: "method_not_allowed", detail: "use POST" });
  }
  if (request.url.includes("?")) throw noQuery(request.url);
  return route;
}

type ForwardParts = Caller & { ingress: Ingress; settings: ControlSettings };

async function forward(request: FastifyRequest, reply: FastifyReply, parts: ForwardParts) {
  const { ingress, actor, accounts, ciRun, settings } = parts;
  const route = requireRoute(request, settings);
  const path = pathOf(request);
  // Before the first await: `close` is not emitted again for a caller that has disconnected already.
  const signal = signalOf(reply);
  const body = parseBody(route.input, request.body, "body");
  if (isRecorded(route)) await settings.record?.(toAccess(request, { ...settings, actor }));
  const answer = await ingress.call({
    ...{ path, body },
    actor: signedName(parts, path),
    reader: actor,
    ...{ accounts, ciRun, trace: readTrace(request.headers) },
    idempotencyKey: route.isWrite
      ? await idempotencyKey(request, { actor, isKeyReused: settings.isKeyReused })
      : undefined,
    blocks: isBlocking(path),
    signal,
  });
  if (answer.invocationId !== undefined) reply.header("x-restate-id", answer.invocationId);
  if (answer.status >= 400) throw refuseForIngress(answer);
  return reply.code(isSend(path) ? 202 : answer.status).send(answer.body ?? null);
}

function signalOf(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once("close", () => controller.abort());
  return controller.signal;
}
