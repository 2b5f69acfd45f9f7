/** `GET /metrics`, `/livez` and `/readyz`: the same for every role, at an address that is not the public one. */
import { type FastifyInstance, fastify } from "fastify";
import {
  AggregatorRegistry,
  collectDefaultMetrics,
  Gauge,
  type MetricObject,
  Registry,
} from "prom-client";
import { readVersion } from "#kernel/process.ts";
import { limitPipelines } from "#kernel/server.ts";
import type { DependencyState } from "./prober.ts";

/** Includes the metrics of the process itself: processor, memory, event loop, garbage collection. */
export function createRegistry(roles: readonly string[]): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const info = new Gauge({
    name: "vedette_build_info",
    help: "Always 1; its labels say what runs here.",
    labelNames: ["version", "roles"],
    registers: [registry],
  });
  info.set({ version: readVersion(), roles: roles.join(",") }, 1);
  return registry;
}

/**
 * Decides if a process should get requests, for the readiness probe of a container. An unavailable dependency is
 * reported, and counts only by a setting: it is away for all replicas at once, an `api` answers from its cache
 * meanwhile, and taking every replica out of a Service would turn slow answers into none.
 */
export type ReadinessReport = {
  /** "starting": not all is up; "leaving": about to end; "waiting": a dependency is away, and the settings ask for all. */
  status: "starting" | "ready" | "leaving" | "waiting";
  dependencies: Record<string, DependencyState>;
};

export type Readiness = { recordStart: () => void; report: () => ReadinessReport };

export function createReadiness(of: {
  isLeaving: () => boolean;
  dependencies: () => Record<string, DependencyState>;
  /** True if a process without its dependencies should get no requests. */
  needsDependencies: boolean;
}): Readiness {
  let isStarted = false;
  const statusNow = (): ReadinessReport["status"] => {
    if (of.isLeaving()) return "leaving";
    if (!isStarted) return "starting";
    const isWaiting = of.needsDependencies && Object.values(of.dependencies()).includes("down");
    return isWaiting ? "waiting" : "ready";
  };
  return {
    recordStart: () => {
      isStarted = true;
    },
    report: () => ({ status: statusNow(), dependencies: of.dependencies() }),
  };
}

/** The metrics of some threads, of each as `getMetricsAsJSON` returns them. */
export type ReadThreads = () => Promise<MetricObject[][]>;

/** Returns all metrics as text. Those of threads are added up, or joined as their `aggregator` says. */
export async function textOf(registry: Registry, readThreads: ReadThreads): Promise<string> {
  const threads = (await readThreads()).filter((metrics) => metrics.length > 0);
  if (threads.length === 0) return registry.metrics();
  const shared = new Set(threads.flat().map(({ name }) => name));
  const own = registry.getMetricsAsArray().map(({ name }) => name);
  const texts = own
    .filter((name) => !shared.has(name))
    .map((name) => registry.getSingleMetricAsString(name));
  const main = (await registry.getMetricsAsJSON()).filter(({ name }) => shared.has(name));
  const joined = AggregatorRegistry.aggregate([main, ...threads]);
  return [...(await Promise.all(texts)), await joined.metrics()].join("\n\n");
}

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
