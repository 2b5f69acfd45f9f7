/** Answers a request by a procedure: checks the body, then the key, then the permission. */
import { validateHeaderValue } from "node:http";
import type { Schema } from "fast-json-stringify";
import fastJsonStringify from "fast-json-stringify";
import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { Authenticate, Caller } from "#api/access/authenticate.ts";
import { ApiError, type Fault } from "#api/error.ts";
import { type Answer, type Call, demand, type Procedure } from "#api/procedure.ts";
import { Pagination } from "#api/schemas/resources.ts";
import { type Deadlines, tooLong } from "./time-limit.ts";

// The faults of a refused body, by the keyword of its JSON Schema, as the wire contract has it.

type Issue = z.core.$ZodIssue;

/** Most faults that are listed: a body may have a million. */
const faultsAtMost = 100;

/** The first faults of a refused body, in the order in which they were found. */
export function faultsOf(error: z.ZodError): Fault[] {
  return error.issues.slice(0, faultsAtMost).flatMap(faultsOfIssue).slice(0, faultsAtMost);
}

function faultsOfIssue(issue: Issue): Fault[] {
  const at = issue.path.map(schemaStep).join("");
  if (issue.input === undefined && issue.path.length > 0) return [missingFault(issue)];
  switch (issue.code) {
    case "invalid_type":
      return [typeFault(issue, at)];
    case "unrecognized_keys":
      return issue.keys.slice(0, faultsAtMost).map((key) => ({
        location: `${at}/additionalProperties`,
        message: `additional properties '${shortened(key)}' not allowed`,
      }));
    case "too_small":
      return [sizeFault(at, { keyword: minKeywords[issue.origin], limit: issue.minimum, issue })];
    case "too_big":
      return [sizeFault(at, { keyword: maxKeywords[issue.origin], limit: issue.maximum, issue })];
    case "invalid_format":
      return [{ location: `${at}/pattern`, message: `does not match pattern '${issue.pattern}'` }];
    case "invalid_value":
      return [
        {
          location: `${at}/enum`,
          message: `value must be one of ${issue.values.map((value) => `'${String(value)}'`).join(", ")}`,
        },
      ];
    default:
      return [{ location: at || "/", message: issue.message }];
  }
}

/** A name from the request may be of any length. */
function shortened(name: string): string {
  return name.length > 100 ? `${name.slice(0, 100).toWellFormed()}…` : name;
}

/** A step of the path from a value to one in it, as a location in the schema. */
function schemaStep(step: PropertyKey): string {
  return typeof step === "number" ? "/items" : `/properties/${String(step)}`;
}

/** JSON has no undefined: an undefined value is a missing property. */
function missingFault({ path }: Issue): Fault {
  const parent = path.slice(0, -1).map(schemaStep).join("");
  return { location: `${parent}/required`, message: `missing property '${String(path.at(-1))}'` };
}

function typeFault(issue: Extract<Issue, { code: "invalid_type" }>, at: string): Fault {
  const expected = issue.expected === "int" ? "integer" : issue.expected;
  return { location: `${at}/type`, message: `got ${jsonType(issue.input)}, want ${expected}` };
}

const minKeywords: Record<string, string> = {
  string: "minLength",
  array: "minItems",
  number: "minimum",
  int: "minimum",
};

const maxKeywords: Record<string, string> = {
  string: "maxLength",
  array: "maxItems",
  number: "maximum",
  int: "maximum",
  object: "maxProperties",
};

type Size = { keyword: string | undefined; limit: number | bigint; issue: Issue };

function sizeFault(at: string, { keyword = "size", limit, issue }: Size): Fault {
  return {
    location: `${at}/${keyword}`,
    message: `${keyword}: got ${sizeOf(issue.input)}, want ${limit}`,
  };
}

function sizeOf(input: unknown): number {
  if (typeof input === "number") return input;
  if (typeof input === "string") return [...input].length;
  return Object.keys(input as object).length;
}

function jsonType(input: unknown): string {
  if (input === null) return "null";
  if (Array.isArray(input)) return "array";
  if (input === undefined) return "nothing";
  return typeof input;
}

export type Headers = Readonly<Record<string, string>>;

/** `type`: the value of `content-type`. */
export type WireAnswer = {
  status: number;
  headers: Headers | undefined;
  type: string;
  body: string;
};

/** A request that is refused. */
export type RefusedRequest = {
  requestId: string;
  path: string;
  procedure?: Procedure | undefined;
  /** Body limit of the route. */
  bodyLimit?: number | undefined;
};

/** Makes the answer to a request for which this was thrown. Logs what is no fault of the caller. */
export type Refuse = (error: Error, request: RefusedRequest) => WireAnswer;

/** Sends by Fastify. The type is complete: Fastify would add a charset to some. */
export function send(reply: FastifyReply, { status, headers, type, body }: WireAnswer): void {
  try {
    if (headers !== undefined) reply.headers(headers);
    reply.code(status).type(type).serializer(String).send(body);
  } catch (error) {
    reply.raw.destroy(error as Error);
  }
}

type ParsedRequest = Pick<FastifyRequest, "id" | "body" | "headers" | "ip" | "socket">;

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
