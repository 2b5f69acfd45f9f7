/** Reads bodies as the framework does, but holds no chunk by itself: one of a single byte takes a hundred more. */
import type { IncomingMessage } from "node:http";
import { errorCodes, type FastifyInstance, type FastifyRequest } from "fastify";
import { readBody } from "#kernel/body.ts";

export const bodyLimitBytes = 1024 * 1024;

/** Accepts JSON only. The handler's schema decides about an empty body. */
export function readBodiesAsJson(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", (request: FastifyRequest, payload, done) => {
    readRequest(request, payload).then((body) => {
      if (body === "") done(null, undefined);
      else void parseJson(request, body, done);
    }, done);
  });
}

async function readRequest({ headers }: FastifyRequest, payload: IncomingMessage): Promise<string> {
  const isLarge = Number(headers["content-length"]) > bodyLimitBytes;
  const chunks = payload.iterator({ destroyOnReturn: false });
  const body = isLarge ? undefined : await readBody(chunks, bodyLimitBytes).catch(refuseBroken);
  if (body === undefined) throw new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE();
  return body.toString();
}

/** The caller has gone in the midst of its body. */
function refuseBroken(cause: Error): never {
  throw Object.assign(cause, { statusCode: 400 });
}
