/** Makes the runs of this location, away from the rows of the checks, which a run must not lock. */
import pRetry from "p-retry";
import type { Log } from "#kernel/log.ts";
import type { ApiCheck } from "#monitor/contract.ts";
import type { Report } from "#monitor/internal.ts";
import type { RunCheck } from "./run-check.ts";
import { noWitness, type Witness } from "./witness.ts";

/** While the database restarts, until the next run. */
const patiently = { retries: 20, minTimeout: 250, maxTimeout: 5_000, unref: true };

type TakeReport = (checkId: string, report: Report) => Promise<void>;

type Parts = {
  runCheck: RunCheck;
  /** Absent: every result counts. */
  witness?: Witness;
  /** The address of the API that checks call by a path. */
  baseUrl?: string;
  log: Log;
};

/** Starts a run and reports it. One that is killed, or whose report is lost, counts as missed when its time is over. */
export function createProbeHere(parts: Parts) {
  const { runCheck, witness = noWitness, baseUrl = "", log } = parts;
  const run = async (check: ApiCheck, scheduledAtMs: number, report: TakeReport) => {
    const result = await witness.judge(await runCheck(check, scheduledAtMs), { check, baseUrl });
    // Not reported: this location then counts as silent.
    if (result === null) return;
    await pRetry(() => report(check.id, { scheduledAtMs, results: [result] }), {
      ...patiently,
      maxRetryTime: check.frequencySeconds * 1_000,
    });
  };
  return (check: ApiCheck, scheduledAtMs: number, report: TakeReport): void => {
    run(check, scheduledAtMs, report).catch((error: Error) => {
      log.warn({ check: check.id, detail: error.message }, "run not reported");
    });
  };
}
