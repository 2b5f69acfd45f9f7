/**
 * The addresses of Restate's ingress, and of its admin interface with the web console. Restate itself
 * listens where only this user can reach it, because it neither authenticates callers nor checks the origin
 * of web pages.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type IsKeyReused, keyedCall, ownKey } from "#control/call-keys.ts";
import { createCallLimit } from "#control/call-limit.ts";
import { endWithCaller, trackResponses } from "#control/open-responses.ts";
import { findForeignFleet, loggedPath, requireFleet, reusedKey } from "#control/refusal.ts";
import { findRoute, isBlocking, type Route, roleOf, signedName } from "#control/routes.ts";
import { type FleetOperators, notOperatorOf } from "#fleet/contract.ts";
import { signActor, targetOfPath } from "#kernel/actor.ts";
import { parseJson, readBody } from "#kernel/body.ts";
import { ingressPath } from "#kernel/ingress.ts";
import type { Log } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";
import { type Caller, hasEveryRole, isAllowed, whyNotAllowed } from "#kernel/roles.ts";
import { createPipelineLimit } from "#kernel/server.ts";
import { answerRefusal, readToken } from "./exchange.ts";
import { answerHeaders, forwardedHeaders, requestRestate, sendAnswer } from "./forward.ts";
import { type Refusal, refuseCallByGet, refuseForeign } from "./guard.ts";

export type FrontSettings = {
  /** The addresses of Restate itself. */
  ingressUrl: string;
  adminUrl: string;
  /** Whose token or session it is; undefined: nobody's. */
  identify: (bearer: string) => Caller | undefined | Promise<Caller | undefined>;
  /** Shared with the worker: callers' names are signed with it. */
  actorKey: Uint8Array;
  /** The fleets that name their operators, or not; absent: none does. */
  fleets?: readonly FleetOperators[];
  /** Returns true if an idempotency key came with another body before; absent: bodies are not compared. */
  isKeyReused?: IsKeyReused;
  log: Log;
};

/** The Restate console calls the ingress below its own address, so that both have one origin. */
const ingressPrefix = "/ingress";

/** A call of the allow-list has as much as control takes; the rest is for those who may do everything. */
const largestCall = 1_024 * 1_024;
const largestBody = 10 * largestCall;
const largestVersion = 64 * 1_024;

const withinMs = { ingress: 24 * 3_600_000, admin: 300_000 };

const heldMs = 30_000;

/** Not listening yet. `close` finishes the responses to short calls, and disconnects the others. */
export type Front = { server: Server; close: () => Promise<void> };

/** Requires a token with the role of the call. */
export function createIngressFront(settings: FrontSettings): Front {
  const limitCalls = createCallLimit(heldMs);
  return createFront(settings, (call) => forwardToIngress(settings, call, limitCalls));
}

/** Also serves the ingress, below `/ingress`. */
export function createAdminFront(settings: FrontSettings): Front {
  const limitCalls = createCallLimit(heldMs);
  return createFront(settings, (call) => {
    const { path } = call;
    const ingressPath = belowIngress(path);
    return ingressPath === undefined
      ? forwardToAdmin(settings, call)
      : forwardToIngress(settings, { ...call, path: ingressPath }, limitCalls);
  });
}

function belowIngress(path: string): string | undefined {
  if (path === ingressPrefix) return "/";
  return path.startsWith(`${ingressPrefix}/`) ? path.slice(ingressPrefix.length) : undefined;
}

/** A path that is not in our allow-list may block for any time. */
function isLong(path: string): boolean {
  const own = belowIngress(path) ?? path;
  return findRoute(own) === undefined || isBlocking(own);
}

type FrontRequest = {
  request: IncomingMessage;
  response: ServerResponse;
  path: string;
  search: string;
  caller: Caller;
  signal: AbortSignal;
};

type Forward = (call: FrontRequest) => Promise<unknown>;

function createFront(settings: FrontSettings, forward: Forward): Front {
  const pipelines = createPipelineLimit();
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    if (!pipelines.admit(request, response)) return;
    const gone = new AbortController();
    // Ours and those of a pipeline are more than ten, at which Node writes a warning for each call.
    response.setMaxListeners(20).once("close", () => gone.abort());
    try {
      await admit({ request, response, signal: gone.signal }, settings, forward);
    } catch (error) {
      if (gone.signal.aborted) return;
      if (error instanceof ProblemError) {
        return answerRefusal(response, { status: error.status, detail: error.message });
      }
      const path = loggedPath(addressOf(request).pathname);
      settings.log.warn({ err: error, path }, "restate did not answer");
      answerRefusal(response, { status: 502, detail: "Restate did not answer; try again" });
    }
  };
  const server = createServer(
    { requestTimeout: 30_000, headersTimeout: 10_000, connectionsCheckingInterval: 1_000 },
    (request, response) => void answer(request, response),
  );
  const responses = trackResponses(server, { isLong });
  const close = async () => {
    await responses.finish();
    server.closeAllConnections();
  };
  return { server, close };
}

async function admit(
  given: Pick<FrontRequest, "request" | "response" | "signal">,
  settings: FrontSettings,
  forward: Forward,
): Promise<unknown> {
  const { request, response } = given;
  const { method = "", headers } = request;
  const { pathname: path, search } = addressOf(request);
  const refused = refuseForeign({ method, path, headers });
  if (refused !== undefined) return answerRefusal(response, refused);
  const find = async () => settings.identify(readToken(headers.authorization));
  const caller = await find();
  if (caller === undefined) {
    // Browsers ask without a token first.
    const isWrong = headers.authorization !== undefined;
    if (isWrong)
      settings.log.warn({ path: loggedPath(path) }, "restate called without a valid token");
    return answerRefusal(response, unauthorized);
  }
  endWithCaller(response, find);
  return forward({ ...given, path, search, caller });
}

/** The resolved address, so that the path that is checked is the one that Restate gets. */
function addressOf(request: IncomingMessage): Pick<URL, "pathname" | "search"> {
  return URL.parse(request.url ?? "", "http://localhost") ?? { pathname: "/", search: "" };
}

const unauthorized = {
  status: 401,
  detail: 'send the ingress token, or your own, as "Authorization: Bearer" or as the password',
} as const;

async function forwardToIngress(
  settings: FrontSettings,
  call: FrontRequest,
  limitCalls: ReturnType<typeof createCallLimit>,
): Promise<void> {
  const { request, response, path, search, caller, signal } = call;
  const { method = "", headers } = request;
  // With a delay a call is made when its caller may not make it any more: that is in no allow-list.
  const route = search === "" ? findRoute(path) : undefined;
  const refused: Refusal | undefined =
    refuseCallByGet({ method, path, headers }) ?? refuseAccess(settings, call, route);
  if (refused !== undefined) return answerRefusal(response, refused);
  if (route !== undefined) requireFleet(path, settings.fleets);
  const limit = route === undefined ? largestBody : largestCall;
  const body = await readBody(request.iterator({ destroyOnReturn: false }), limit);
  if (body === undefined) return answerRefusal(response, tooLarge(limit));
  const given = headers["idempotency-key"]?.toString();
  const key = given && (hasEveryRole(caller) ? given : ownKey(caller.actor, given));
  if (key && (await isReused(settings, { path, key, body }))) {
    return answerRefusal(response, { status: 422, detail: reusedKey().message });
  }
  const signed = { target: targetOfPath(path) ?? "", body, accounts: caller.accounts };
  const send = () =>
    requestRestate({
      address: `${settings.ingressUrl}${route === undefined ? path : ingressPath(path)}${search}`,
      method,
      headers: {
        ...forwardedHeaders(headers, body),
        ...signActor(signedName(caller, path), signed, settings.actorKey),
        ...(key && { "idempotency-key": key }),
      },
      body,
      withinMs: withinMs.ingress,
      signal,
    });
  const isRead = route?.isWrite === false;
  const counted = { reader: caller.actor, signal, path, isRead };
  const answer = await (route === undefined ? send() : limitCalls(counted, send));
  await sendAnswer(answer, response);
}

async function isReused(
  { isKeyReused }: FrontSettings,
  { path, key, body }: { path: string; key: string; body: Buffer },
): Promise<boolean> {
  const sent = body.length === 0 ? {} : (parseJson(body) ?? body.toString("latin1"));
  return (await isKeyReused?.(keyedCall(path, key, sent))) === true;
}

/** A call that is not in our allow-list goes around every rule: it takes every role, and an operator of each fleet. */
function refuseAccess(
  { log, fleets }: FrontSettings,
  { caller, path, search }: FrontRequest,
  route?: Route,
): Refusal | undefined {
  const wanted = route && roleOf(route);
  const hasRole = wanted === undefined ? hasEveryRole(caller) : isAllowed(caller, wanted);
  const foreign = findForeignFleet(caller, { route, path, fleets });
  if (hasRole && foreign === undefined) return undefined;
  log.warn({ path: loggedPath(path), actor: caller.actor }, "call not allowed");
  const detail =
    hasRole && foreign
      ? notOperatorOf(foreign, caller.actor)
      : whyNotAllowed(
          caller,
          wanted ?? (search === "" ? "every role" : "every role, as it has a query"),
        );
  return { status: 403, detail };
}

const tooLarge = (bytes: number) =>
  ({ status: 413, detail: `the body is larger than ${bytes / largestCall} MiB` }) as const;

async function forwardToAdmin(settings: FrontSettings, call: FrontRequest): Promise<void> {
  const { request, response, path, search, signal } = call;
  const refused = refuseAccess(settings, call);
  if (refused !== undefined) return answerRefusal(response, refused);
  const body = await readBody(request.iterator({ destroyOnReturn: false }), largestBody);
  if (body === undefined) return answerRefusal(response, tooLarge(largestBody));
  const answer = await requestRestate({
    address: `${settings.adminUrl}${path}${search}`,
    method: request.method ?? "",
    headers: forwardedHeaders(request.headers, body),
    body,
    withinMs: withinMs.admin,
    signal,
  });
  if (path !== "/version" || answer.statusCode !== 200) return sendAnswer(answer, response);
  // The Restate console reads the address of the ingress from this answer.
  const original = await readBody(answer, largestVersion);
  const version: unknown = JSON.parse(original?.toString("utf8") ?? "");
  const ingress_endpoint = `http://${request.headers.host}${ingressPrefix}`;
  const { "content-length": _, ...kept } = answerHeaders(answer.headers);
  response.writeHead(200, kept).end(JSON.stringify({ ...(version as object), ingress_endpoint }));
}
