/** Wires the metrics port, which has the probes of a container too, and the polls of the program's dependencies. */
import { listening } from "#kernel/server.ts";
import { createProber, type Dependency } from "#metrics/prober.ts";
import {
  createMetricsServer,
  createReadiness,
  type Readiness,
  type ReadThreads,
} from "#metrics/server.ts";
import type { Base } from "./base.ts";
import type { Stops } from "./stops.ts";

export type Metrics = Pick<Readiness, "recordStart"> & {
  url: string;
  /** Polls it until the parts that were started after this call have stopped. */
  watch: (dependency: Dependency) => void;
  /** Shows the metrics of further threads too. */
  include: (readThreads: ReadThreads) => void;
};

export async function startMetrics(base: Base, stops: Stops): Promise<Metrics> {
  const { registry, log, departure } = base;
  const { host, port, readyz_dependencies: needsDependencies } = base.config.metrics;
  const prober = createProber({ registry, log });
  const readiness = createReadiness({
    isLeaving: departure.isAnnounced,
    dependencies: prober.states,
    needsDependencies,
  });
  let readThreads: ReadThreads = async () => [];
  const server = createMetricsServer(registry, readiness.report, () => readThreads());
  stops.add("metrics", () => server.close());
  const url = await listening(server.listen({ host, port }), { port, setting: "metrics.port" });
  return {
    url,
    recordStart: readiness.recordStart,
    include: (read) => {
      readThreads = read;
    },
    watch: (dependency) => stops.add(`polls of ${dependency.name}`, prober.watch(dependency).stop),
  };
}
