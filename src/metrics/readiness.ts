/**
 * Whether a process should get requests, for the readiness probe of a container. That a dependency is away is
 * told, and does not count: it is away for all replicas at once, an `api` answers from its cache meanwhile, and
 * taking every replica out of a Service would turn slow answers into none.
 */
import type { DependencyState } from "./prober.ts";

export type ReadinessReport = {
  /** "starting": not everything is up yet; "leaving": about to end, its ports still answer. */
  status: "starting" | "ready" | "leaving";
  dependencies: Record<string, DependencyState>;
};

export type Readiness = {
  /** Everything of this process is up. */
  noteStarted: () => void;
  report: () => ReadinessReport;
};

export function createReadiness(of: {
  isLeaving: () => boolean;
  dependencies: () => Record<string, DependencyState>;
}): Readiness {
  let isStarted = false;
  const statusNow = () => (of.isLeaving() ? "leaving" : isStarted ? "ready" : "starting");
  return {
    noteStarted: () => {
      isStarted = true;
    },
    report: () => ({ status: statusNow(), dependencies: of.dependencies() }),
  };
}
