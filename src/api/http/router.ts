/** The routes of the procedures, `/v2/<namespace>.<name>`, served by Fastify. */
import type { FastifyInstance, FastifyReply, FastifyRequest, preParsingHookHandler } from "fastify";
import type { Authenticate } from "#api/access/authenticate.ts";
import type { Procedures } from "#api/procedure.ts";
import { addSpan, isTracing, nowMs, openScope, type Span, startTrace } from "#kernel/tracing.ts";
import {
  type AnsweringParts,
  createAnswering,
  type Route,
  type StartAnswer,
  send,
} from "./answering.ts";

/** A procedure's route as it is served. */
export type MountedRoute = Route & { start: StartAnswer };

export function mountProcedures(
  app: FastifyInstance,
  namespaces: Record<string, Procedures>,
  parts: AnsweringParts,
): MountedRoute[] {
  const preParsing = createKeyCheck(parts.authenticate);
  const routes = Object.entries(namespaces).flatMap(([namespace, procedures]) =>
    Object.entries(procedures).map(([name, procedure]) => {
      const route = { path: `/v2/${namespace}.${name}`, procedure };
      return { ...route, start: traced(route.path, createAnswering(route, parts)) };
    }),
  );
  for (const { path, procedure, start } of routes) {
    app.post(path, { config: { procedure }, preParsing }, (request, reply) =>
      start(request, (answer) => send(reply, answer)),
    );
  }
  return routes;
}

const withoutKeyBytes = 64 * 1024;

/** Checks the key before it reads a large body; others are validated first, as the wire contract has it. */
function createKeyCheck(authenticate: Authenticate): preParsingHookHandler {
  return (request, reply, payload, done) => {
    if (needsNoKey(request)) {
      done(null, payload);
      return;
    }
    checkKey(authenticate, request, reply).then(
      () => done(null, payload),
      (error: Error) => done(error),
    );
  };
}

/** True if the body is small, or so large that it is refused unread. */
function needsNoKey({ headers, routeOptions }: FastifyRequest): boolean {
  const length = headers["content-length"];
  if (length === undefined) return headers["transfer-encoding"] === undefined;
  return Number(length) <= withoutKeyBytes || Number(length) > routeOptions.bodyLimit;
}

async function checkKey(
  authenticate: Authenticate,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  try {
    await authenticate(request.headers.authorization, Date.now(), request.ip, request.socket);
  } catch (error) {
    // Closes the connection instead of reading the rest of the body.
    reply.header("connection", "close");
    throw error;
  }
}

/** Of the requests of a second, by procedure and thread, the first ones are recorded and then each nth: a span costs more than a verification. */
const allTraced = 10;
const tracedOf = 100;

/** Records a request as a span, which honours the caller's `traceparent`. No key, body or query is recorded. */
function traced(path: string, start: StartAnswer): StartAnswer {
  const name = `POST ${path}`;
  let second = 0;
  let count = 0;
  return (request, finish) => {
    if (!isTracing()) return start(request, finish);
    const startMs = nowMs();
    const now = Math.floor(startMs / 1_000);
    if (now !== second) [second, count] = [now, 0];
    count += 1;
    const isOne = count <= allTraced || count % tracedOf === 0;
    const begun = isOne ? startTrace(request.headers) : undefined;
    if (begun === undefined) return start(request, finish);
    const scope = openScope(begun.trace);
    scope.run(() =>
      start(request, (answer) => {
        scope.end();
        const ended = { ...begun, name, kind: "server", startMs, endMs: nowMs() } as const;
        addSpan({ ...ended, ...describe(path, answer.status) });
        finish(answer);
      }),
    );
  };
}

function describe(path: string, status: number): Pick<Span, "attributes" | "error"> {
  const attributes = {
    "http.request.method": "POST",
    "http.route": path,
    "url.path": path,
    "http.response.status_code": status,
  };
  return status >= 500 ? { attributes, error: String(status) } : { attributes };
}
