import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { expect, it } from "vitest";
import { textOf } from "#metrics/server.ts";

/** The registry of a thread with some of what the API counts. */
function createThread({ requests, live }: { requests: number; live: number }) {
  const registry = new Registry();
  const registers = [registry];
  const labelNames = ["status"];
  new Counter({ name: "requests_total", help: "Requests.", labelNames, registers }).inc(
    { status: "200" },
    requests,
  );
  new Gauge({ name: "live", help: "Live.", aggregator: "min", registers }).set(live);
  const seconds = { name: "seconds", help: "Seconds.", buckets: [1], registers };
  new Histogram(seconds).observe(requests);
  return registry;
}

it("the exposition adds up the counts of threads, and leaves those of the process alone", async () => {
  const main = createThread({ requests: 2, live: 1 });
  new Gauge({ name: "started", help: "S.", aggregator: "omit", registers: [main] }).set(42);
  const other = createThread({ requests: 3, live: 0 });

  const text = await textOf(main, async () => [await other.getMetricsAsJSON(), []]);

  expect(text).toContain("started 42");
  expect(text).toContain('requests_total{status="200"} 5');
  expect(text).toMatch(/^live 0$/m);
  expect(text).toContain("seconds_count 2");
  expect(text).toContain("seconds_sum 5");
  expect(text.match(/# TYPE requests_total/g)).toHaveLength(1);
});

it("the exposition is the registry's own text without further threads", async () => {
  const main = createThread({ requests: 2, live: 1 });

  expect(await textOf(main, async () => [[]])).toBe(await main.metrics());
});
