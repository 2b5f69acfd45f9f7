/** The text of the metrics of a process, whose further threads have metrics of their own. */
import { AggregatorRegistry, type MetricObject, type Registry } from "prom-client";

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
