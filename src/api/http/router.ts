/** From a request to a procedure and back: check the body, then the key, then the permission. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { Authenticate, Caller } from "#api/access/authenticate.ts";
import { ApiError } from "#api/error.ts";
import { type Answer, type Call, demand, type Procedure, type Procedures } from "#api/procedure.ts";
import { Pagination } from "#api/schemas/resources.ts";
import { faultsOf } from "./faults.ts";
import { createKeyCheck } from "./large-bodies.ts";
import { type Deadlines, tooLong } from "./time-limit.ts";

type Headers = Record<string, string>;

export type RouterParts = {
  authenticate: Authenticate;
  /** Counts a call against its workspace's limit; returns headers, or throws the 429. */
  admit: (caller: Caller, nowMs: number) => Headers | undefined | Promise<Headers>;
  /** A request that misses its deadline is answered 408. */
  deadlines: Deadlines;
  /** In tests: an answer that does not match its procedure's schema is a 500. */
  validatesAnswers: boolean;
};

/** `/v2/<namespace>.<name>` for each procedure of each namespace. */
export function mountProcedures(
  app: FastifyInstance,
  namespaces: Record<string, Procedures>,
  parts: RouterParts,
): void {
  const preParsing = createKeyCheck(parts.authenticate);
  for (const [namespace, procedures] of Object.entries(namespaces)) {
    for (const [name, procedure] of Object.entries(procedures)) {
      const path = `/v2/${namespace}.${name}`;
      app.post(
        path,
        {
          schema: { response: { 200: answerSchema(procedure) } },
          config: { procedure },
          preParsing,
        },
        createHandler({ path, procedure }, parts),
      );
    }
  }
}

type Route = { path: string; procedure: Procedure };

function createHandler({ path, procedure }: Route, parts: RouterParts) {
  const handle = async (request: FastifyRequest, reply: FastifyReply) => {
    const nowMs = Date.now();
    const input = parseBody(procedure, path, request.body);
    const found = parts.authenticate(
      request.headers.authorization,
      nowMs,
      request.ip,
      request.socket,
    );
    const caller = found instanceof Promise ? await found : found;
    const admitted = parts.admit(caller, nowMs);
    if (admitted !== undefined) reply.headers(await admitted);
    const call = toCall(request, caller, nowMs);
    if (procedure.permission !== undefined) demand(call, procedure.permission(input));
    const answering = procedure.handle(input, call);
    const answer = answering instanceof Promise ? await answering : answering;
    if (parts.validatesAnswers) procedure.output?.parse(answer.data);
    return envelope(answer, call.requestId);
  };
  const { deadlines } = parts;
  // Without a promise of its own: each costs a request more than its deadline does.
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const deadline = deadlines.begin(() => send(reply, tooLong()));
    handle(request, reply).then(
      (answer) => deadlines.end(deadline) && send(reply, answer),
      (error: unknown) => deadlines.end(deadline) && send(reply, toError(error)),
    );
  };
}

/** Never throws, since nobody would catch it. An answer that cannot be sent is a 500, which is logged. */
function send(reply: FastifyReply, answer: unknown): void {
  try {
    reply.send(answer);
  } catch (error) {
    sendFailure(reply, toError(error));
  }
}

function sendFailure(reply: FastifyReply, error: Error): void {
  try {
    reply.send(error);
  } catch {
    // Its headers cannot be sent either.
    reply.raw.destroy(error);
  }
}

/** Anything else would be sent as the answer. */
function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error("not an error", { cause: thrown });
}

function envelope(answer: Answer<unknown>, requestId: string) {
  const { data, pagination } = answer;
  return { meta: { requestId }, data, pagination };
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

function toCall(request: FastifyRequest, caller: Caller, nowMs: number): Call {
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

/** Fastify serializes answers by this schema, which is faster than `JSON.stringify`. */
function answerSchema(procedure: Procedure): unknown {
  const body = z.object({
    meta: z.object({ requestId: z.string() }),
    ...(procedure.output !== undefined && { data: procedure.output }),
    pagination: Pagination.optional(),
  });
  const { $schema: _, ...schema } = z.toJSONSchema(body, { target: "draft-7", io: "output" });
  return schema;
}
