/** Turns any thrown error into an answer of the wire contract. */
import type { FastifyError, FastifyInstance } from "fastify";
import { ApiError, errorBody } from "#api/error.ts";
import type { Log } from "#kernel/log.ts";
import { isUnavailable } from "#kernel/problem.ts";
import { pathOf } from "#kernel/server.ts";
import { type Refuse, type RefusedRequest, send, unreadableBody } from "./answering.ts";

/** `docsUrl`: where the pages of the error codes are, no trailing slash; empty: on this server. */
export type RefusalParts = { log: Log; docsUrl: string };

export function createRefuse({ log, docsUrl }: RefusalParts): Refuse {
  return (error, request) => {
    const { requestId, path, procedure } = request;
    const refusal = toRefusal(error, request);
    const { status, headers } = refusal;
    if (status >= 500) log.error({ err: error, requestId, path }, "request failed");
    const isProblem = status === 429 || procedure?.errorsAreProblems === true;
    const type = `application/${isProblem ? "problem+json" : "json"}`;
    const body = JSON.stringify(errorBody(refusal, { requestId, docsUrl }));
    return { status, headers, type, body };
  };
}

export function answerRefusals(app: FastifyInstance, refuse: Refuse): void {
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const { bodyLimit, config } = request.routeOptions;
    const { procedure } = config;
    const refused = { requestId: request.id, path: pathOf(request), procedure, bodyLimit };
    send(reply, refuse(error, refused));
  });
  // The contract gives plain text, not an error body, to a path that is no procedure of the published clients.
  app.setNotFoundHandler((request, reply) => {
    const url = pathOf(request);
    const name = request.method === "POST" ? hostedPath.exec(url)?.[1] : undefined;
    if (name !== undefined) {
      return send(reply, refuse(hostedOnly(name), { requestId: request.id, path: url }));
    }
    const allowed = ["GET", "HEAD", "POST"].filter((method) => app.hasRoute({ method, url }));
    if (allowed.length > 0) {
      return reply
        .code(405)
        .header("allow", allowed.join(", "))
        .type("text/plain")
        .send("method not allowed\n");
    }
    return reply.code(404).type("text/plain").send("404 page not found\n");
  });
}

/** Procedures that published clients have only for the platform of their maker (@unkey/api 2.5.1). */
const hostedPath =
  /^\/v2\/((?:apps|deploy|deployments|domains|environments|gateway|github|portal|projects)\.\w{1,100})$/;

function hostedOnly(name: string): ApiError {
  const detail = `'${name}' belongs to the hosted platform of the published client and is not served here.`;
  return new ApiError("unkey/application/hosted_platform_only", detail);
}

/** Refusals by Fastify itself, by its error code. */
const ownRefusals: Record<string, (request: RefusedRequest) => ApiError> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ({ bodyLimit }) =>
    new ApiError(
      "user/bad_request/request_body_too_large",
      `The request body exceeds the maximum allowed size of ${bodyLimit} bytes.`,
    ),
};

function toRefusal(thrown: Error, request: RefusedRequest): ApiError {
  if (thrown instanceof ApiError) return thrown;
  const error: Partial<FastifyError> & Error = thrown;
  const own = ownRefusals[error.code ?? ""];
  if (own !== undefined) return own(request);
  // All other refusals before a handler concern the body: its JSON, type or length.
  if (error.statusCode !== undefined && error.statusCode < 500) {
    return unreadableBody(request.path, [{ location: "/", message: error.message }]);
  }
  return unexpected(error);
}

function unexpected(error: Partial<FastifyError> & Error): ApiError {
  return isUnavailable(error)
    ? new ApiError(
        "unkey/application/service_unavailable",
        "A service this request needs cannot be reached at the moment. Please try again.",
        { headers: { "Retry-After": "1" } },
      )
    : new ApiError(
        "unkey/application/unexpected_error",
        "Something went wrong here; the log of this request has the cause.",
      );
}
