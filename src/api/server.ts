/** The public API's HTTP side: `/v2/{service}.{procedure}`. */
import { type FastifyInstance, fastify } from "fastify";
import type { Log } from "#kernel/log.ts";
import { newId } from "./ids.ts";
import { livenessBody } from "./liveness.ts";
import type { Procedure, Procedures } from "./procedure.ts";
import { answerRefusals } from "./refusal.ts";
import { mountProcedures, type RouterParts } from "./router.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Set on the routes of procedures. */
    procedure?: Procedure;
  }
}

/** Limits of the wire contract: 10 MiB of body, 10 s to receive a request, a minute to answer it. */
const bodyLimitBytes = 10 * 1024 * 1024;
const receiveTimeoutMs = 10_000;
const answerTimeoutMs = 60_000;

export type ServerParts = RouterParts & {
  log: Log;
  /** Where the pages of the error codes are, no trailing slash; empty: on this server. */
  docsUrl: string;
  /** Proxies in front, whose X-Forwarded-For is believed; false: none. */
  trustProxy: boolean | string[];
  namespaces: Record<string, Procedures>;
};

/** The API without a listener: `listen` and `close` are the caller's. CORS is off. */
export function createServer(parts: ServerParts): FastifyInstance {
  const app = fastify({
    bodyLimit: bodyLimitBytes,
    requestTimeout: receiveTimeoutMs,
    handlerTimeout: answerTimeoutMs,
    http: { headersTimeout: receiveTimeoutMs, connectionsCheckingInterval: 1_000 },
    forceCloseConnections: true,
    trustProxy: parts.trustProxy,
    genReqId: () => newId("request"),
  });
  app.get("/v2/liveness", async (request) => livenessBody(request.id));
  answerRefusals(app, parts);
  mountProcedures(app, parts.namespaces, parts);
  return app;
}
