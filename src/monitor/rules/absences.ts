/** From the spans in which pings were listened for to those in which nobody did. Pure; the time comes in. */
import type { Absence } from "./deadline.ts";

/** A process listened so long; more may come, unless it has left. */
export type ListeningSpan = { fromMs: number; toMs: number; hasLeft: boolean };

export type Absences = {
  /** In the order of time; the last one may go on. */
  spans: readonly Absence[];
  /** Whether the one who listens is late with its note: busy, or gone. What that means is known soon. */
  isDoubtful: boolean;
};

/** How often it is noted that pings are listened for: a gap that is no longer says nothing. */
export const noteEveryMs = 2_000;

/** A note that is later is waited for. */
const lateMs = 5_000;

/**
 * A process that says nothing for so long is gone, or stood still: whoever pinged has not waited. Far more
 * than what a busy machine keeps a note waiting.
 */
export const goneMs = 30_000;

/** Of nobody who ever listened nothing is known, and nothing is said. */
export function findAbsences(listening: readonly ListeningSpan[], nowMs: number): Absences {
  const spans: Absence[] = [];
  let heardMs: number | null = null;
  for (const { fromMs, toMs } of listening.toSorted((a, b) => a.fromMs - b.fromMs)) {
    if (heardMs !== null && fromMs - heardMs > noteEveryMs) {
      spans.push({ fromMs: heardMs, toMs: fromMs, isOver: true });
    }
    heardMs = Math.max(heardMs ?? toMs, toMs);
  }
  if (heardMs === null) return { spans, isDoubtful: false };
  const silentMs = silenceOf(listening, nowMs);
  if (silentMs > goneMs) spans.push({ fromMs: heardMs, toMs: nowMs, isOver: false });
  return { spans, isDoubtful: silentMs > lateMs && silentMs <= goneMs };
}

/** Since the last note of one who has not left; for ever when all have. */
function silenceOf(listening: readonly ListeningSpan[], nowMs: number): number {
  const notes = listening.filter(({ hasLeft }) => !hasLeft).map(({ toMs }) => toMs);
  return nowMs - Math.max(...notes, Number.NEGATIVE_INFINITY);
}

/** The last span that began before the deadline: a ping that was due by then may be lost in it. */
export function findAway(spans: readonly Absence[], dueMs: number): Absence | null {
  return spans.findLast(({ fromMs }) => fromMs <= dueMs) ?? null;
}
