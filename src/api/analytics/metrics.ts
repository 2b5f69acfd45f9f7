import { Counter, Gauge, type Registry } from "prom-client";
import type { EngineState } from "#api/analytics/engine/engine.ts";
import type { RecorderCounters } from "./recording/recorder.ts";

/** Metrics of recorded events, and of the store's availability. */
export function countAnalytics(
  { counters, state }: { counters: () => RecorderCounters; state: () => EngineState },
  registry: Registry,
): void {
  new Counter({
    name: "vedette_analytics_events_total",
    help: "Events recorded, confirmed by the store, and dropped for want of space.",
    labelNames: ["result"],
    registers: [registry],
    collect() {
      this.reset();
      const { recorded, stored, dropped } = counters();
      for (const [result, count] of Object.entries({ recorded, stored, dropped })) {
        this.inc({ result }, count);
      }
    },
  });
  new Gauge({
    name: "vedette_analytics_waiting_events",
    help: "Events on their way to the store, in memory and on disk.",
    labelNames: ["place"],
    registers: [registry],
    collect() {
      const { buffered, spooled } = counters();
      this.set({ place: "memory" }, buffered);
      this.set({ place: "disk" }, spooled);
    },
  });
  new Gauge({
    name: "vedette_analytics_store_up",
    help: "1 while the store of analytics can be asked, else 0.",
    aggregator: "min",
    registers: [registry],
    collect() {
      this.set(["ready", "resting"].includes(state()) ? 1 : 0);
    },
  });
}
