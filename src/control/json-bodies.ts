/** Reads bodies as the framework does, but holds no chunk by itself: one of a single byte takes a hundred more. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { readRequestBody } from "#kernel/body.ts";

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
