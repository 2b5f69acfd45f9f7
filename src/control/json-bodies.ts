/** Reads bodies as the framework does, but holds no chunk by itself: one of a single byte takes a hundred more. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { readRequestBody } from "#kernel/body.ts";
import { faultLines } from "#kernel/faults.ts";
import { ProblemError } from "#kernel/problem.ts";
import type { Route } from "./routes.ts";

export const bodyLimitBytes = 1024 * 1024;

/** Accepts JSON only. The handler's schema decides about an empty body. */
export function readBodiesAsJson(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", (request: FastifyRequest, payload, done) => {
    readRequestBody(payload, bodyLimitBytes).then((body) => {
      if (body.length === 0) done(null, undefined);
      else void parseJson(request, body.toString(), done);
    }, done);
  });
}

/** The body as the handler's schema has it. Throws a problem that names each fault. */
export function readBody(request: FastifyRequest, route: Route): unknown {
  const parsed = route.input.safeParse(request.body === undefined ? {} : request.body);
  if (parsed.success) return parsed.data;
  const detail = faultLines(parsed.error, "body").join("\n");
  throw new ProblemError({ status: 400, code: "invalid_request", detail });
}
