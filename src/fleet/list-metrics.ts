import { Gauge, type Registry } from "prom-client";

export type ListMetrics = { succeeded: (size: number) => void; failed: () => void };

/** Returns the metrics of a fleet by its name. */
export function createListMetrics(registry: Registry): (fleet: string) => ListMetrics {
  const size = new Gauge({
    name: "vedette_fleet_sentinels",
    help: "Sentinels in the fleet's last accepted list.",
    labelNames: ["fleet"],
    registers: [registry],
  });
  const isFailing = new Gauge({
    name: "vedette_fleet_list_failing",
    help: "1 while the fleet cannot be listed or its list is refused, else 0.",
    labelNames: ["fleet"],
    registers: [registry],
  });
  return (fleet) => ({
    succeeded: (sentinels) => {
      size.set({ fleet }, sentinels);
      isFailing.set({ fleet }, 0);
    },
    failed: () => isFailing.set({ fleet }, 1),
  });
}
