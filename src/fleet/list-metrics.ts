import { Gauge, type Registry } from "prom-client";

export type ListMetrics = { succeeded: (size: number) => void; failed: () => void };

export function createListMetrics(registry: Registry): ListMetrics {
  const size = new Gauge({
    name: "vedette_fleet_sentinels",
    help: "Sentinels in the fleet's last accepted list.",
    registers: [registry],
  });
  const isFailing = new Gauge({
    name: "vedette_fleet_list_failing",
    help: "1 while the fleet cannot be listed or its list is refused, else 0.",
    registers: [registry],
  });
  return {
    succeeded: (sentinels) => {
      size.set(sentinels);
      isFailing.set(0);
    },
    failed: () => isFailing.set(1),
  };
}
