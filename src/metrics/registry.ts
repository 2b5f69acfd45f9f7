/**
 * The one registry of a process. A slice declares its own metrics in a `metrics.ts` of its folder:
 * `new Counter({ name: "vedette_<slice>_…", registers: [registry], … })`; app/ passes in the registry.
 */
import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { readVersion } from "#kernel/program-file.ts";

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
