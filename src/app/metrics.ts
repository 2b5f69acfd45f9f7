/** Wires the metrics port, and the looks at what the program rests on. */
import type { Database } from "#kernel/database.ts";
import { listening } from "#kernel/listen.ts";
import { startProber } from "#metrics/prober.ts";
import { createMetricsServer } from "#metrics/server.ts";
import type { Base, Stop } from "./base.ts";

export async function startMetrics({ config, registry }: Base, stops: Stop[]): Promise<string> {
  const { host, port } = config.metrics;
  const server = createMetricsServer(registry);
  stops.push(() => server.close());
  return listening(server.listen({ host, port }), { port, setting: "metrics.port" });
}

export function startProbing({ registry, log }: Base, database: Database, stops: Stop[]): void {
  const dependencies = [{ name: "postgres", ask: () => database.query("SELECT 1") }];
  stops.push(startProber({ registry, log, dependencies }).stop);
}
