/** Refuses requests of the gateway: one body for every refusal, without internal details. */
import { randomUUID } from "node:crypto";
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import {
  defaultFleet,
  type FleetOperators,
  fleetOfSentinel,
  isOperatorOf,
  notOperatorOf,
} from "#fleet/contract.ts";
import { targetOfPath } from "#kernel/actor.ts";
import { clientOf, hopsOf } from "#kernel/address.ts";
import type { AccessEvent, RecordAccess } from "#kernel/audit.ts";
import type { Log } from "#kernel/log.ts";
import { describeProblem, isUnavailable, ProblemError, toProblem } from "#kernel/problem.ts";
import { type Caller, isAllowed, whyNotAllowed } from "#kernel/roles.ts";
import { endWith, pathOf } from "#kernel/server.ts";
import { cleanText, noSuch } from "#kernel/text.ts";
import type { RolloutProblemCode } from "#rollout/contract.ts";
import { type IngressAnswer, sourceOf } from "./ingress.ts";
import { findRoute, fleetOf, type Route, roleOf } from "./routes.ts";

/** The log lines about calls. */
export type Call = {
  requestId: string;
  path: string;
  status: number;
  /** True if the caller has been sent the whole response. */
  isSent: boolean;
  remote: string;
  durationMs: number;
  actor?: string | undefined;
};

/** Writes and refused callers are logged by default; reads only at level debug. */
export function recordCall(log: Log, call: Call, record?: RecordAccess): void {
  const { requestId, status, isSent, remote, actor } = call;
  const path = loggedPath(call.path);
  const fields = { requestId, path, status, remote, ...(actor !== undefined && { actor }) };
  const durationMs = Math.round(call.durationMs);
  if (status === 401) log.warn(fields, "caller without a valid token");
  else if (status === 403 && actor !== undefined) {
    log.warn(fields, "call not allowed");
    void record?.({
      event: "call.refused",
      actor,
      remote,
      requestId,
      what: calledPath(call.path),
    });
  } else if (!isSent) log.info({ ...fields, durationMs }, "caller went away");
  else if (findRoute(path)?.isWrite === true) log.info({ ...fields, durationMs }, "call answered");
  else log.debug({ ...fields, durationMs }, "call answered");
}

/** Returns what the audit log has of a call: its body may have secrets, and the change records itself. */
export function toAccess(
  request: FastifyRequest,
  { actor, trustedProxies = [] }: { actor: string; trustedProxies?: readonly string[] },
): AccessEvent {
  const remote = remoteOf(request.raw, trustedProxies);
  return { event: "call", actor, remote, requestId: request.id, what: calledPath(pathOf(request)) };
}

/** `service/key/handler` of a path, for people. */
export const calledPath = (path: string) => loggedPath(path).replace(/^\//, "");

/** Anybody may send one of 16 kB. A ping URL contains its token, also when the URL is misspelt. */
export const loggedPath = (path: string) => path.slice(0, 200).replace(/[\w-]{40,}/g, "***");

/** The caller's address, without the port and the prefix of IPv4 in IPv6 that it may be written with. */
export function remoteOf(
  request: Parameters<typeof hopsOf>[0],
  trustedProxies: readonly string[],
): string {
  return clientOf(hopsOf(request), trustedProxies);
}

type FleetCall = {
  /** undefined: not in the allow-list, and so a call that may change any fleet. */
  route: Route | undefined;
  path: string;
  fleets?: readonly FleetOperators[] | undefined;
};

/**
 * The fleet that the call would change and of which the caller is no operator; undefined: there is none. What runs a
 * sentinel, and may do nothing else, is an operator of no fleet.
 */
export function findForeignFleet(
  caller: Caller,
  { route, path, fleets = [] }: FleetCall,
): FleetOperators | undefined {
  const isPush = route?.role === "notify";
  if (route?.isWrite === false || (isPush && !isAllowed(caller, "operate"))) return undefined;
  const concerned = isPush ? fleetOfPush(path, fleets) : fleetOf(path);
  const isConcerned = ({ name }: FleetOperators) => route === undefined || name === concerned;
  return fleets.find((fleet) => isConcerned(fleet) && !isOperatorOf(fleet, caller.actor));
}

function fleetOfPush(path: string, fleets: readonly FleetOperators[]): string {
  const [, id = ""] = targetOfPath(path)?.split("/") ?? [];
  const names = fleets.map(({ name }) => name);
  return fleetOfSentinel(id, names);
}

/** Sent with every response: no caching, no frames, no content sniffing. */
export const safetyHeaders = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** Sends an error as a problem, and logs it when it is a server error. */
export function createRefuse(log: Log) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    if (reply.raw.destroyed) return;
    const problem = toProblem(translate(error));
    if (problem.status >= 500) {
      log.error(
        { err: error, requestId: request.id, path: loggedPath(pathOf(request)) },
        "call failed",
      );
    }
    if (problem.status === 401) reply.header("www-authenticate", "Bearer");
    if (problem.status === 405) reply.header("allow", "POST");
    if (problem.status === 503) reply.header("retry-after", "5");
    reply
      .headers(safetyHeaders)
      .header("x-request-id", request.id)
      .code(problem.status)
      .type("application/problem+json")
      .send(bodyOf(problem, request.id));
  };
}

/** Callers of Restate read `message`; it says the same as `detail`. */
function bodyOf(problem: ReturnType<typeof toProblem>, requestId: string): string {
  return JSON.stringify({ ...problem, message: problem.detail, requestId });
}

/** The file plugin refuses paths that lead outside of its folder with 403: no such files exist. */
const noSuchFile = { status: 404, code: "not_found", detail: "there is nothing here" };

const frameworkProblems: Record<number, { status?: number; code: string; detail: string }> = {
  403: noSuchFile,
  404: noSuchFile,
  400: { code: "invalid_request", detail: "the body is not valid JSON" },
  413: { code: "payload_too_large", detail: "the body is larger than 1 MiB" },
  415: { code: "unsupported_media_type", detail: "send the body as application/json" },
};

/** An error of the framework as one of our problems; any other error as it is. */
function translate(error: unknown): unknown {
  const status = (error as { statusCode?: number }).statusCode;
  const known = status === undefined ? undefined : frameworkProblems[status];
  if (error instanceof ProblemError) return error;
  if (error instanceof Error && isUnavailable(error)) return unavailable(error);
  if (known === undefined || status === undefined) return error;
  return new ProblemError({ status, ...known });
}

/** Returns the 503 for a page, whose reads need Postgres. */
function unavailable(cause: Error): ProblemError {
  const detail = "the database does not answer: try again in a moment";
  return new ProblemError({ status: 503, code: "unavailable", detail }, { cause });
}

/** Restate's refusal as a problem, without the internal details that its 5xx may carry. */
export function refuseForIngress(answer: IngressAnswer): ProblemError {
  const { status, body } = answer;
  const source = sourceOf(answer);
  const { message, metadata } = (body ?? {}) as Partial<IngressRefusal>;
  // A refusal by one of our handlers carries a code; its message is meant for the caller.
  if (metadata?.code !== undefined && message !== undefined) {
    return new ProblemError({ status, code: metadata.code, detail: message });
  }
  if (status === 404 && source === "ingress") return notRegistered(message);
  if (status < 500) {
    const code = status === 409 ? "conflict" : "invalid_request";
    return new ProblemError({ status, code, detail: message ?? "Restate refused the call" });
  }
  const detail =
    source === "invocation"
      ? "the call failed inside the worker; the log of this request has the cause"
      : "Something went wrong here; the log of this request has the cause.";
  const cause = new Error(`Restate answered ${status}: ${message}`);
  return new ProblemError({ status, code: "internal_error", detail }, { cause });
}

type IngressRefusal = { message: string; metadata: { code?: string } };

/** The allow-list has the handler, but Restate does not know it: no worker has registered it yet. */
function notRegistered(message: string | undefined): ProblemError {
  const detail = "no worker has registered this service with Restate yet; try again in a moment";
  const cause = new Error(message);
  return new ProblemError({ status: 503, code: "unavailable", detail }, { cause });
}

export function unauthorized(): ProblemError {
  const detail = 'send the ingress token as "Authorization: Bearer <INGRESS_TOKEN>"';
  return new ProblemError({ status: 401, code: "unauthorized", detail });
}

/** Throws the 403 for a caller that may not make this call. */
export function requireAccess(caller: Caller, call: FleetCall & { route: Route }): void {
  requireRole(caller, call.route);
  const foreign = findForeignFleet(caller, call);
  if (foreign === undefined) return;
  const detail = notOperatorOf(foreign, caller.actor);
  throw new ProblemError<RolloutProblemCode>({ status: 403, code: "not_an_operator", detail });
}

function requireRole(caller: Caller, route: Route): void {
  const wanted = roleOf(route);
  if (isAllowed(caller, wanted)) return;
  const detail = whyNotAllowed(caller, wanted);
  throw new ProblemError({ status: 403, code: "forbidden", detail });
}

/** Handlers that end or show a rollout of a fleet that the settings have lost. The worker knows if there is one. */
const ofLostFleet = new Set(["Status", "History", "Cancel"]);

/** Throws the 404 for a key that is no fleet's name. */
export function requireFleet(
  path: string,
  fleets: readonly FleetOperators[] = [{ name: defaultFleet }],
): void {
  const fleet = fleetOf(path);
  if (fleet === undefined || fleets.some(({ name }) => name === fleet)) return;
  const [, , , handler = ""] = path.split("/");
  if (ofLostFleet.has(handler)) return;
  throw noSuchHandler(noSuch("fleet", fleet, fleets));
}

export function noSuchHandler(detail = "there is no such handler here"): ProblemError {
  return new ProblemError({ status: 404, code: "not_found", detail });
}

/** Restate's ingress has query parameters, such as a delay: refused, and not silently ignored. */
export function noQuery(url: string): ProblemError {
  const names = [...new URLSearchParams(url.slice(url.indexOf("?"))).keys()].slice(0, 5);
  const named = names.map((name) => `"${cleanText(name, 40)}"`).join(", ");
  const isDelayed = names.some((name) => /^delay/i.test(name));
  const instead = isDelayed
    ? 'a call cannot be delayed; a Rollout that is to start later has the time as "not_before" in its body'
    : "what a call says is in its body, and its idempotency-key is a header";
  const detail = `query parameters are not supported here${named && `: ${named}`}: ${instead}`;
  return new ProblemError({ status: 400, code: "invalid_request", detail });
}

export function reusedKey(): ProblemError {
  const detail =
    "this idempotency-key came with another body before and belongs to that call: nothing was started " +
    "by this one. Send it with a new key";
  return new ProblemError({ status: 422, code: "idempotency_key_reused", detail });
}

const brokenRequests: Record<string, { status: number; code: string; detail: string }> = {
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    code: "timeout",
    detail: "the request was not received in time",
  },
  HPE_HEADER_OVERFLOW: {
    status: 431,
    code: "headers_too_large",
    detail: "the headers are too large",
  },
};

const notHttp = {
  status: 400,
  code: "invalid_request",
  detail: "this is not a valid HTTP request",
};

/** Refuses a request that could not be parsed: too slow, too long, or not HTTP. */
export function refuseBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable) return;
  const problem = brokenRequests[error.code ?? ""] ?? notHttp;
  const requestId = randomUUID();
  const title = STATUS_CODES[problem.status] ?? "Bad Request";
  const body = bodyOf({ ...describeProblem(problem), title }, requestId);
  const headers = {
    ...safetyHeaders,
    "x-request-id": requestId,
    "content-type": "application/problem+json",
    "content-length": Buffer.byteLength(body),
    connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const head = [`HTTP/1.1 ${problem.status} ${title}`, ...lines].join("\r\n");
  endWith(socket, `${head}\r\n\r\n${body}`);
}
