/** Has each fleet compared with its desired images every minute. The fleet's reconciler notifies people, and converges. */
import { CancelledError, TerminalError } from "@restatedev/restate-sdk";
import { type CallTarget, everyMinutes, type Job } from "#cron/schedule.ts";

/** One check of a fleet: the call answers with what it found, in words. */
export type FleetCheck = { fleet: string; check: CallTarget };

export function createFleetDrift(checks: readonly FleetCheck[]): Job {
  return {
    schedule: everyMinutes(1),
    // A check retries its own reads.
    retryForMs: 0,
    run: async ({ call }) => {
      const lines: string[] = [];
      let hasFailed = false;
      for (const { fleet, check } of checks) {
        const { found, failure } = await attempt(call<string>(check));
        hasFailed ||= failure !== undefined;
        lines.push(`${fleet}: ${found ?? failure}`);
      }
      if (hasFailed) throw new TerminalError(lines.join("; "));
      return lines.join("; ");
    },
  };
}

/** A fleet that cannot be compared must not keep others from it. */
async function attempt(call: Promise<string>): Promise<{ found?: string; failure?: string }> {
  try {
    return { found: await call };
  } catch (error) {
    if (!(error instanceof TerminalError) || error instanceof CancelledError) throw error;
    return { failure: error.message };
  }
}
