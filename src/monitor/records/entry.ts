/** Writes an entry of a check to the database; what is there already stays as it is. */
import { isOfData } from "#kernel/groups.ts";
import type { CheckResult } from "#monitor/contract.ts";
import type { Entry } from "#monitor/internal.ts";
import type { Recorder } from "#monitor/records/recorder.ts";

/** Answers why parts of it cannot ever be written; empty: all is. Throws what may pass. */
export async function writeEntry(
  recorder: Recorder,
  checkId: string,
  { results = [], missed, transition, snapshot }: Entry,
): Promise<string[]> {
  return [
    ...(await writeResults(recorder, results)),
    ...(missed ? await attempt(() => recorder.missed({ checkId, ...missed })) : []),
    ...(transition ? await attempt(() => recorder.transition(transition)) : []),
    ...(snapshot ? await attempt(() => recorder.snapshot(snapshot)) : []),
  ];
}

/** One result that cannot be kept does not take the others along. */
async function writeResults(
  recorder: Recorder,
  results: readonly CheckResult[],
): Promise<string[]> {
  const faults = await attempt(() => recorder.results(results));
  if (faults.length === 0 || results.length === 1) return faults;
  const each: string[] = [];
  for (const result of results) each.push(...(await attempt(() => recorder.results([result]))));
  return each;
}

/**
 * Answers why it cannot ever be written; empty: it is. Tried again for ever it would keep all that
 * follows it waiting. What may pass is thrown.
 */
async function attempt(write: () => Promise<void>): Promise<string[]> {
  try {
    await write();
    return [];
  } catch (error) {
    if (!isOfData(error)) throw error;
    const { code, message } = error as Error & { code?: string };
    return [code ?? message];
  }
}
