/** Answers a request by a procedure: checks the body, then the key, then the permission. */
import { validateHeaderValue } from "node:http";
import fastJsonStringify, { type Schema } from "fast-json-stringify";
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import type { Authenticate, Caller } from "#api/access/authenticate.ts";
import { ApiError } from "#api/error.ts";
import { type Answer, type Call, demand, type Procedure } from "#api/procedure.ts";
import { Pagination } from "#api/schemas/resources.ts";
import { faultsOf } from "./faults.ts";
import { type Deadlines, tooLong } from "./time-limit.ts";
import type { Headers, Refuse, WireAnswer } from "./wire-answer.ts";

/** A request, by whichever parser it was read. */
type ParsedRequest = Pick<FastifyRequest, "id" | "body" | "headers" | "ip" | "socket">;

/** A procedure with its path. */
export type Route = { path: string; procedure: Procedure };

export type AnsweringParts = {
  authenticate: Authenticate;
  /** Counts a call against its workspace's limit; returns headers, or throws the 429. */
  admit: (caller: Caller, nowMs: number) => Headers | undefined | Promise<Headers>;
  /** A request that misses its deadline is answered 408. */
  deadlines: Deadlines;
  /** True in tests: an answer that does not match its procedure's schema is a 500. */
  validatesAnswers: boolean;
  refuse: Refuse;
};

/** Answers a request of the route: calls `finish`, which must not throw, once. */
export type StartAnswer = (request: ParsedRequest, finish: (answer: WireAnswer) => void) => void;

/** The headers of the workspace's limit, as soon as they are known. */
type LimitHeaders = { headers: Headers | undefined };

type RouteParts = Route & AnsweringParts;

export function createAnswering(route: Route, parts: AnsweringParts): StartAnswer {
  const { deadlines } = parts;
  const answering = { ...parts, ...route };
  const serialize = createSerialize(route.procedure);
  // Without a promise of its own: each costs a request more than its deadline does.
  return (request, finish) => {
    const admitted: LimitHeaders = { headers: undefined };
    const refuse = (error: unknown) => toRefusal(error, request, answering);
    const send = (form: () => WireAnswer) => finish(formWith(admitted, { form, refuse }));
    const deadline = deadlines.start(() => send(() => refuse(tooLong())));
    answer(request, admitted, answering).then(
      (body) => deadlines.finish(deadline) && send(() => toAnswer(serialize(body))),
      (error: unknown) => deadlines.finish(deadline) && send(() => refuse(error)),
    );
  };
}

async function answer(
  request: ParsedRequest,
  admitted: LimitHeaders,
  { path, procedure, authenticate, admit, validatesAnswers }: RouteParts,
) {
  const nowMs = Date.now();
  const input = parseBody(procedure, path, request.body);
  const found = authenticate(request.headers.authorization, nowMs, request.ip, request.socket);
  const caller = found instanceof Promise ? await found : found;
  const counted = admit(caller, nowMs);
  admitted.headers = counted instanceof Promise ? await counted : counted;
  const call = toCall(request, caller, nowMs);
  if (procedure.permission !== undefined) demand(call, procedure.permission(input));
  const answering = procedure.handle(input, call);
  const answered = answering instanceof Promise ? await answering : answering;
  if (validatesAnswers) procedure.output?.parse(answered.data);
  return envelope(answered, call.requestId);
}

function toAnswer(body: string): WireAnswer {
  return { status: 200, headers: undefined, type: "application/json; charset=utf-8", body };
}

function toRefusal(
  error: unknown,
  { id: requestId }: ParsedRequest,
  { path, procedure, refuse }: RouteParts,
): WireAnswer {
  return refuse(toError(error), { requestId, path, procedure });
}

type FormParts = { form: () => WireAnswer; refuse: (error: unknown) => WireAnswer };

/** An answer that cannot be sent, for its body or a header, is a 500, which is logged. */
function formWith({ headers }: LimitHeaders, { form, refuse }: FormParts): WireAnswer {
  try {
    return withHeaders(form(), headers);
  } catch (error) {
    const refusal = refuse(error);
    try {
      return withHeaders(refusal, headers);
    } catch {
      return withHeaders(refusal, undefined);
    }
  }
}

/** Throws when a header cannot be sent. */
function withHeaders(formed: WireAnswer, headers: Headers | undefined): WireAnswer {
  if (headers === undefined && formed.headers === undefined) return formed;
  const all = { ...lowerNames(headers), ...lowerNames(formed.headers) };
  for (const [name, value] of Object.entries(all)) validateHeaderValue(name, value);
  return { ...formed, headers: all };
}

/** Writes the names in lower case, as Fastify does. */
function lowerNames(headers: Headers = {}): Headers {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

/** Wraps anything else, which would be sent as the answer. */
function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error("not an error", { cause: thrown });
}

function envelope({ data, pagination }: Answer<unknown>, requestId: string) {
  return { meta: { requestId }, data, pagination };
}

/** Serializes by the schema of the procedure's answer, which is faster than `JSON.stringify`. */
function createSerialize(procedure: Procedure): (body: unknown) => string {
  const body = z.object({
    meta: z.object({ requestId: z.string() }),
    ...(procedure.output !== undefined && { data: procedure.output }),
    pagination: Pagination.optional(),
  });
  const { $schema: _, ...schema } = z.toJSONSchema(body, { target: "draft-7", io: "output" });
  return fastJsonStringify(schema as Schema);
}

function parseBody(procedure: Procedure, path: string, body: unknown): unknown {
  const usual = procedure.readUsual?.(body);
  if (usual !== undefined) return usual;
  const result = procedure.input.safeParse(body, { reportInput: true });
  if (result.success) return result.data;
  throw unreadableBody(path, faultsOf(result.error));
}

/** The 400 of a body that does not match the procedure's schema. */
export function unreadableBody(path: string, faults: ReturnType<typeof faultsOf>): ApiError {
  const detail = `POST request body for '${path}' failed to validate schema`;
  return new ApiError("unkey/application/invalid_input", detail, { faults });
}

function toCall(request: ParsedRequest, caller: Caller, nowMs: number): Call {
  return {
    requestId: request.id,
    workspaceId: caller.workspaceId,
    grants: caller.grants,
    actor: { id: caller.keyId, name: caller.name },
    remoteIp: request.ip,
    userAgent: request.headers["user-agent"] ?? "",
    headers: request.headers,
    nowMs,
  };
}
