/** Wires the metrics port, and the probes of the program's dependencies. */
import type { Database } from "#kernel/database.ts";
import { listening } from "#kernel/listen.ts";
import { startProber } from "#metrics/prober.ts";
import { createMetricsServer } from "#metrics/server.ts";
import type { Base } from "./base.ts";
import type { Stops } from "./stops.ts";

export async function startMetrics({ config, registry }: Base, stops: Stops): Promise<string> {
  const { host, port } = config.metrics;
  const server = createMetricsServer(registry);
  stops.add("metrics", () => server.close());
  return listening(server.listen({ host, port }), { port, setting: "metrics.port" });
}

export function startProbing({ registry, log }: Base, database: Database, stops: Stops): void {
  const dependencies = [{ name: "postgres", ask: () => database.query("SELECT 1") }];
  stops.add("prober", startProber({ registry, log, dependencies }).stop);
}
