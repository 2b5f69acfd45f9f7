/** Turns any thrown error into an answer of the wire contract. */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ApiError, errorBody } from "#api/error.ts";
import type { Log } from "#kernel/log.ts";
import { unreadableBody } from "./router.ts";

/** `docsUrl`: where the pages of the error codes are, no trailing slash; empty: on this server. */
export type RefusalParts = { log: Log; docsUrl: string };

export function answerRefusals(app: FastifyInstance, parts: RefusalParts): void {
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const refusal = toRefusal(error, request);
    if (refusal.status >= 500) {
      parts.log.error(
        { err: error, requestId: request.id, path: pathOf(request) },
        "request failed",
      );
    }
    return sendRefusal(reply, refusal, request, parts.docsUrl);
  });
  // As the contract has it: a path that is no procedure gets plain text, not an error body.
  app.setNotFoundHandler((request, reply) => {
    const url = pathOf(request);
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

function sendRefusal(
  reply: FastifyReply,
  refusal: ApiError,
  request: FastifyRequest,
  docsUrl: string,
): FastifyReply {
  const isProblem =
    refusal.status === 429 || request.routeOptions.config.procedure?.errorsAreProblems;
  const body = errorBody(refusal, { requestId: request.id, docsUrl });
  return reply
    .code(refusal.status)
    .headers(refusal.headers)
    .type(isProblem === true ? "application/problem+json" : "application/json")
    .serializer(JSON.stringify)
    .send(body);
}

const pathOf = (request: FastifyRequest) => request.url.split("?", 1)[0] ?? "";

/** Refusals by Fastify itself, by its error code. */
const ownRefusals: Record<string, (error: FastifyError, request: FastifyRequest) => ApiError> = {
  FST_ERR_CTP_BODY_TOO_LARGE: (_, request) =>
    new ApiError(
      "user/bad_request/request_body_too_large",
      `The request body exceeds the maximum allowed size of ${request.routeOptions.bodyLimit} bytes.`,
    ),
};

function toRefusal(error: FastifyError, request: FastifyRequest): ApiError {
  if (error instanceof ApiError) return error;
  const own = ownRefusals[error.code];
  if (own !== undefined) return own(error, request);
  // All other refusals before a handler concern the body: its JSON, type or length.
  if (error.statusCode !== undefined && error.statusCode < 500) {
    return unreadableBody(pathOf(request), [{ location: "/", message: error.message }]);
  }
  return unexpected(error);
}

/** Postgres cannot be reached or is overloaded: SQLSTATE classes 08, 53, 57, or no connection at all. */
const unavailable = /^(08|53|57)|^E[A-Z]+$/;

function unexpected(error: FastifyError): ApiError {
  const isUnavailable =
    unavailable.test(error.code ?? "") || /timeout|terminat/i.test(error.message);
  return isUnavailable
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
