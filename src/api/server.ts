/** The public API's HTTP side: `/v2/{service}.{procedure}`. */
import { randomBytes } from "node:crypto";
import { type FastifyInstance, fastify } from "fastify";
import { livenessBody } from "./liveness.ts";

/** Limits of the wire contract: 10 MiB of body, 10 s to receive a request. */
const bodyLimitBytes = 10 * 1024 * 1024;
const receiveTimeoutMs = 10_000;

/** The API without a listener: `listen` and `close` are the caller's. CORS is off. */
export function createApi(): FastifyInstance {
  const app = fastify({
    bodyLimit: bodyLimitBytes,
    requestTimeout: receiveTimeoutMs,
    http: { headersTimeout: receiveTimeoutMs, connectionsCheckingInterval: 1_000 },
    forceCloseConnections: true,
    genReqId: newRequestId,
  });
  app.get("/v2/liveness", async (request) => livenessBody(request.id));
  // As the contract has it: what is no procedure is answered in plain text, not as an error body.
  app.setNotFoundHandler((_, reply) =>
    reply.code(404).type("text/plain").send("404 page not found\n"),
  );
  return app;
}

/** `req_` and 16 letters and digits, as clients of the contract expect. */
function newRequestId(): string {
  return `req_${randomBytes(12).toString("base64url").replace(/[-_]/g, "0")}`;
}
