/** `GET /metrics` for Prometheus, on an address of its own so that the public one never serves it. */
import { type FastifyInstance, fastify } from "fastify";
import type { Registry } from "prom-client";
import { limitPipelines } from "#kernel/pipelines.ts";

const receiveTimeoutMs = 10_000;

/** Does not listen yet: the caller calls `listen` and `close`. */
export function createMetricsServer(registry: Registry): FastifyInstance {
  const app = fastify({
    requestTimeout: receiveTimeoutMs,
    http: { headersTimeout: receiveTimeoutMs, connectionsCheckingInterval: 1_000 },
    forceCloseConnections: true,
  });
  limitPipelines(app);
  app.get("/metrics", async (_, reply) => {
    const text = await registry.metrics();
    return reply.type(registry.contentType).send(text);
  });
  return app;
}
