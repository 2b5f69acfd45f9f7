/** Writes an entry of a check to the database; does not change rows that exist already. */
import { whyUnwritable } from "#kernel/unwritable.ts";
import type { CheckResult } from "#monitor/contract.ts";
import type { Entry } from "#monitor/internal.ts";
import type { CheckRecorder } from "#monitor/records/recorder.ts";

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
