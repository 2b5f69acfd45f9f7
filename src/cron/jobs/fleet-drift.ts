/** Has each fleet compared with its desired images every minute. The fleet's reconciler notifies people, and converges. */
import { type CallTarget, everyMinutes, type Job } from "#cron/schedule.ts";

/** One check of a fleet: the call answers with what it found, in words. */
export type FleetCheck = { fleet: string; check: CallTarget };

export function createFleetDrift(checks: readonly FleetCheck[]): Job {
  return {
    schedule: everyMinutes(1),
    // A check retries its own reads.
    retryForMs: 0,
    run: async ({ call }) => {
      const found: string[] = [];
      for (const { fleet, check } of checks) found.push(`${fleet}: ${await call<string>(check)}`);
      return found.join("; ");
    },
  };
}
