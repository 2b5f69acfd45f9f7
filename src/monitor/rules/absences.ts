/** Finds the absences between the spans in which processes listened for pings. Pure; time is a parameter. */
import type { Absence } from "./deadline.ts";

/** The span in which a process listened for pings; it may grow until the process has left. */
export type ListeningSpan = { fromMs: number; toMs: number; hasLeft: boolean };

export type Absences = {
  /** The spans in chronological order; the last one may not have ended. */
  spans: readonly Absence[];
  /** True if the listening process is late to extend its span: it is busy or gone, which is known soon. */
  isDoubtful: boolean;
};

/** The interval at which a process extends its span: a gap that is no longer is no absence. */
export const recordEveryMs = 2_000;

/** After this time without an extension it is doubtful whether the process is there. */
const lateMs = 5_000;

/**
 * A process that has not extended its span for this long is gone or was suspended: clients that pinged
 * have timed out. Far longer than a busy machine delays an extension.
 */
export const goneMs = 30_000;

/** The absences until `nowMs`. If no process has ever listened, there are none. */
export function findAbsences(listening: readonly ListeningSpan[], nowMs: number): Absences {
  const spans: Absence[] = [];
  let coveredMs: number | null = null;
  for (const { fromMs, toMs } of listening.toSorted((a, b) => a.fromMs - b.fromMs)) {
    if (coveredMs !== null && fromMs - coveredMs > recordEveryMs) {
      spans.push({ fromMs: coveredMs, toMs: fromMs, isOver: true });
    }
    coveredMs = Math.max(coveredMs ?? toMs, toMs);
  }
  if (coveredMs === null) return { spans, isDoubtful: false };
  const idleMs = sinceLastRecordMs(listening, nowMs);
  if (idleMs > goneMs) spans.push({ fromMs: coveredMs, toMs: nowMs, isOver: false });
  return { spans, isDoubtful: idleMs > lateMs && idleMs <= goneMs };
}

/** The time since a process that has not left last extended its span; infinite when all have left. */
function sinceLastRecordMs(listening: readonly ListeningSpan[], nowMs: number): number {
  const notes = listening.filter(({ hasLeft }) => !hasLeft).map(({ toMs }) => toMs);
  return nowMs - Math.max(...notes, Number.NEGATIVE_INFINITY);
}

/** The last absence that began before the deadline: a ping that was due by then may be lost in it. */
export function findAway(spans: readonly Absence[], dueMs: number): Absence | null {
  return spans.findLast(({ fromMs }) => fromMs <= dueMs) ?? null;
}
