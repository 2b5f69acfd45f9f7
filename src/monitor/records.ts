/** Writes the entries of a check in order, and retries until the database accepts them. */
import { implement } from "@restatedev/restate-sdk";
import type { AlertTransition } from "#alerts/contract.ts";
import { whyUnwritable } from "#kernel/database-faults.ts";
import type { CheckResult, CheckSnapshot } from "#monitor/contract.ts";
import { checkRecords, type Entry } from "#monitor/internal.ts";
import type { SuppressionSpan } from "#monitor/related.ts";
import { forEver } from "#monitor/retry.ts";
import type { MissedRuns } from "#monitor/rules/grid.ts";

/** Stores results and states of checks. Every write must be idempotent. */
export type CheckRecorder = {
  results: (results: readonly CheckResult[]) => Promise<void>;
  missed: (missed: MissedRuns & { checkId: string }) => Promise<void>;
  transition: (transition: AlertTransition) => Promise<void>;
  /** Each that began or ended, in any order. */
  suppressions: (checkId: string, spans: readonly SuppressionSpan[]) => Promise<void>;
  snapshot: (snapshot: CheckSnapshot) => Promise<void>;
};

export function createRecordsObject(recorder: CheckRecorder) {
  return implement(checkRecords, {
    handlers: {
      write: async (ctx, entry) => {
        const unwritten = await ctx.run("write-records", () =>
          writeEntry(recorder, ctx.key, entry),
        );
        for (const fault of unwritten) ctx.console.error("record given up", { fault });
        return null;
      },
    },
    options: { ingressPrivate: true, journalRetention: 0, retryPolicy: forEver },
  });
}

/** Returns why parts of it can never be written; empty: all are. Throws a transient error. */
export async function writeEntry(
  recorder: CheckRecorder,
  checkId: string,
  { results = [], missed, transition, suppressions, snapshot }: Entry,
): Promise<string[]> {
  return [
    ...(await writeResults(recorder, results)),
    ...(missed ? await attempt(() => recorder.missed({ checkId, ...missed })) : []),
    ...(transition ? await attempt(() => recorder.transition(transition)) : []),
    ...(suppressions ? await attempt(() => recorder.suppressions(checkId, suppressions)) : []),
    ...(snapshot ? await attempt(() => recorder.snapshot(snapshot)) : []),
  ];
}

/** If one result cannot be written, writes the others one by one. */
async function writeResults(
  recorder: CheckRecorder,
  results: readonly CheckResult[],
): Promise<string[]> {
  const faults = await attempt(() => recorder.results(results));
  if (faults.length === 0 || results.length === 1) return faults;
  const each: string[] = [];
  for (const result of results) each.push(...(await attempt(() => recorder.results([result]))));
  return each;
}

async function attempt(write: () => Promise<void>): Promise<string[]> {
  const fault = await whyUnwritable(write);
  return fault === null ? [] : [fault];
}
