/**
 * Decides if a process should get requests, for the readiness probe of a container. An unavailable dependency is
 * reported, and counts only by a setting: it is away for all replicas at once, an `api` answers from its cache
 * meanwhile, and taking every replica out of a Service would turn slow answers into none.
 */
import type { DependencyState } from "./prober.ts";

export type ReadinessReport = {
  /**
   * "starting": not everything is up yet; "leaving": about to end, its ports still answer; "waiting": one of the
   * dependencies did not answer the last poll, and the settings ask for all of them.
   */
  status: "starting" | "ready" | "leaving" | "waiting";
  dependencies: Record<string, DependencyState>;
};

export type Readiness = {
  /** Everything of this process is up. */
  recordStart: () => void;
  report: () => ReadinessReport;
};

export function createReadiness(of: {
  isLeaving: () => boolean;
  dependencies: () => Record<string, DependencyState>;
  /** True if a process without its dependencies should get no requests. */
  needsDependencies: boolean;
}): Readiness {
  let isStarted = false;
  const statusNow = (): ReadinessReport["status"] => {
    if (of.isLeaving()) return "leaving";
    if (!isStarted) return "starting";
    const isWaiting = of.needsDependencies && Object.values(of.dependencies()).includes("down");
    return isWaiting ? "waiting" : "ready";
  };
  return {
    recordStart: () => {
      isStarted = true;
    },
    report: () => ({ status: statusNow(), dependencies: of.dependencies() }),
  };
}
