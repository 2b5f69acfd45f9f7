/**
 * `GET /metrics` for Prometheus, and `GET /livez` and `/readyz` for a container's probes: the same for every
 * role, on an address of their own so that the public one never serves them.
 */
import { type FastifyInstance, fastify } from "fastify";
import type { Registry } from "prom-client";
import { limitPipelines } from "#kernel/pipelines.ts";
import { type ReadThreads, textOf } from "./exposition.ts";
import type { ReadinessReport } from "./readiness.ts";

const receiveTimeoutMs = 10_000;

/** Does not listen yet: the caller calls `listen` and `close`. */
export function createMetricsServer(
  registry: Registry,
  readiness: () => ReadinessReport,
  readThreads: ReadThreads = async () => [],
): FastifyInstance {
  const app = fastify({
    requestTimeout: receiveTimeoutMs,
    http: { headersTimeout: receiveTimeoutMs, connectionsCheckingInterval: 1_000 },
    forceCloseConnections: true,
  });
  limitPipelines(app);
  // Bodies are read by nobody.
  app.removeAllContentTypeParsers();
  app.get("/metrics", async (_, reply) => {
    const text = await textOf(registry, readThreads);
    return reply.type(registry.contentType).send(text);
  });
  // Tests nothing: a restart would not bring a dependency back.
  app.get("/livez", async (_, reply) => reply.header("cache-control", "no-store").send({}));
  app.get("/readyz", async (_, reply) => {
    const report = readiness();
    reply.code(report.status === "ready" ? 200 : 503).header("cache-control", "no-store");
    return report;
  });
  return app;
}
