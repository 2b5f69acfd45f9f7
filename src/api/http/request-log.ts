/** One line per request: never a body, a header or a query, which may all hold secrets. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { callerGone } from "#api/metrics.ts";
import type { Log } from "#kernel/log.ts";
import { pathOf } from "#kernel/request-path.ts";

const longestPath = 200;

export function logRequests(app: FastifyInstance, log: Log): void {
  app.addHook("onRequest", (request, reply, done) => {
    const startedAtMs = performance.now();
    // Fastify does not call `onResponse` when the caller has closed the connection.
    reply.raw.on("close", () => {
      const durationMs = Math.round((performance.now() - startedAtMs) * 10) / 10;
      log.info({ ...fieldsOf(request, reply), durationMs }, "request answered");
    });
    done();
  });
}

function fieldsOf(request: FastifyRequest, reply: FastifyReply) {
  return {
    requestId: request.id,
    method: request.method,
    path: pathOf(request).slice(0, longestPath),
    status: reply.raw.writableFinished ? reply.statusCode : callerGone,
    remote: request.ip,
  };
}
