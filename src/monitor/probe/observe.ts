/** Times one run of a probe, whatever its kind, and turns its errors into outcomes. */
import { createReach, type Reach } from "#kernel/reach.ts";
import type { ProbeObservation } from "#monitor/contract.ts";
import { noPhases } from "#monitor/rules/grade.ts";
import { describeFault, isUnreached } from "./fault.ts";
import type { PhaseTimes } from "./timing.ts";

export type TimeLimit = {
  /** Over the whole run. */
  timeoutMs: number;
  /** Aborts then, for requests that share a limit; absent: the limit begins with the run. */
  signal?: AbortSignal;
  /** Absent: only metadata services are closed. */
  reach?: Reach | undefined;
};

/** Values that a run fills in, the signal that ends it, and the addresses it may reach. */
export type Run = { timing: PhaseTimes; signal: AbortSignal; reach: Reach };

const anyReach = createReach();

/** Never throws: an error is an outcome. `attempt` has to end when the signal is aborted. */
export async function observe(
  limits: TimeLimit,
  attempt: (run: Run) => Promise<ProbeObservation["outcome"]>,
): Promise<ProbeObservation> {
  const timing: PhaseTimes = { phases: { ...noPhases }, tlsDaysLeft: null };
  const startedMs = performance.now();
  const signal = limits.signal ?? AbortSignal.timeout(limits.timeoutMs);
  const { reach = anyReach } = limits;
  const outcome = await attempt({ timing, signal, reach }).catch((error: unknown) => ({
    kind: "error" as const,
    reason: describeFault(error, { signal, limits, timing }),
    ...(isUnreached(error, signal) && { isUnreached: true as const }),
  }));
  const { phases, tlsDaysLeft, tlsIssuer = null } = timing;
  const durationMs = performance.now() - startedMs;
  return { durationMs, phases, tlsDaysLeft, tlsIssuer, outcome };
}
