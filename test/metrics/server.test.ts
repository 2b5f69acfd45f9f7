import { expect, it } from "vitest";
import { createRegistry } from "#metrics/registry.ts";
import { createMetricsServer } from "#metrics/server.ts";

const registry = createRegistry(["api", "worker"]);

it("answers in the text format of Prometheus", async () => {
  const answer = await createMetricsServer(registry).inject("/metrics");

  expect(answer.statusCode).toBe(200);
  expect(answer.headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(answer.body).toMatch(/^vedette_build_info\{version="[\d.]+",roles="api,worker"\} 1$/m);
});

it("has metrics of the process itself", async () => {
  const answer = await createMetricsServer(registry).inject("/metrics");

  expect(answer.body).toMatch(/^nodejs_eventloop_lag_p99_seconds \d/m);
  expect(answer.body).toMatch(/^process_resident_memory_bytes \d/m);
});
