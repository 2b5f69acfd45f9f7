/** The owner of the states of checks and heartbeats: decides them in Postgres, and from memory while that is away. */
import pRetry from "p-retry";
import type { ApiCheck } from "#monitor/contract.ts";
import type { Report } from "#monitor/internal.ts";
import type { RunCheck } from "#monitor/probe/run-check.ts";
import { noWitness, type Witness } from "#monitor/probe/witness.ts";
import { createOutage, type OutageParts } from "./outage.ts";
import { createStates, type StateParts } from "./store.ts";

type Parts = Omit<StateParts, "probe" | "remember"> &
  Pick<OutageParts, "sendNow" | "outageLimitMs"> & {
    runCheck: RunCheck;
    /** Absent: every result of this location counts. */
    witness?: Witness;
    /** The address of the API that checks call by a path. */
    baseUrl?: string;
  };

export function createOwner(parts: Parts) {
  const probe = createProbeHere(parts);
  const outage = createOutage({
    ...parts,
    probe,
    change: (id, change) => states.change(id, change),
  });
  const states = createStates({
    ...parts,
    probe: (check, scheduledAtMs) => probe(check, scheduledAtMs, states.report),
    remember: outage.remember,
  });
  return { states, outage };
}

/** While the database restarts, until the next run. */
const patiently = { retries: 20, minTimeout: 250, maxTimeout: 5_000, unref: true };

type TakeReport = (checkId: string, report: Report) => Promise<void>;

type ProbeParts = Pick<Parts, "runCheck" | "witness" | "baseUrl" | "log">;

/** Starts a run of this location, outside of the check's row, which it must not lock, and reports it. One that is killed, or whose report is lost, counts as missed when its time is over. */
function createProbeHere(parts: ProbeParts) {
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
