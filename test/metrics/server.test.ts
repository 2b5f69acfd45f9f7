import { expect, it } from "vitest";
import { createMetricsServer, createRegistry, type ReadinessReport } from "#metrics/server.ts";

const registry = createRegistry(["api", "worker"]);
const ready = (): ReadinessReport => ({ status: "ready", dependencies: { postgres: "up" } });

it("the server answers in the text format of Prometheus", async () => {
  const answer = await createMetricsServer(registry, ready).inject("/metrics");

  expect(answer.statusCode).toBe(200);
  expect(answer.headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(answer.body).toMatch(/^vedette_build_info\{version="[\d.]+",roles="api,worker"\} 1$/m);
});

it("the server has metrics of the process itself", async () => {
  const answer = await createMetricsServer(registry, ready).inject("/metrics");

  expect(answer.body).toMatch(/^nodejs_eventloop_lag_p99_seconds \d/m);
  expect(answer.body).toMatch(/^process_resident_memory_bytes \d/m);
});

it.each(["starting", "leaving"] as const)(
  "is alive and not ready while it is %s",
  async (status) => {
    const server = createMetricsServer(registry, () => ({ status, dependencies: {} }));

    const [alive, answer] = [await server.inject("/livez"), await server.inject("/readyz")];

    expect(alive.statusCode).toBe(200);
    expect(answer.statusCode).toBe(503);
    expect(answer.json()).toEqual({ status, dependencies: {} });
  },
);

it.each(["GET", "HEAD"] as const)(
  "answers a %s of a probe, which nothing may keep",
  async (method) => {
    const server = createMetricsServer(registry, ready);

    for (const url of ["/livez", "/readyz"]) {
      const answer = await server.inject({ method, url });
      expect(answer.statusCode).toBe(200);
      expect(answer.headers["cache-control"]).toBe("no-store");
    }
  },
);
