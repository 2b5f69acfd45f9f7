/** Mute and maintenance: when a check may not open an alert. An open alert still resolves. */
import type { Quiet } from "#monitor/contract.ts";

export const notQuiet: Quiet = { mutedUntilMs: null, maintenance: [] };

/** Stands for a mute without an end: the last second of the last year of four digits. */
export const muteForeverMs = Date.UTC(9999, 11, 31, 23, 59, 59);

/** Returns when the quiet at `atMs` ends, with adjoining windows merged into one; null: not quiet. */
export function quietUntilMs(quiet: Quiet, atMs: number): number | null {
  const spans = [...quiet.maintenance, ...mutedSpan(quiet, atMs)];
  let untilMs = atMs;
  for (const { fromMs, toMs } of spans.sort((a, b) => a.fromMs - b.fromMs)) {
    if (fromMs <= untilMs && toMs > untilMs) untilMs = toMs;
  }
  return untilMs > atMs ? untilMs : null;
}

function mutedSpan({ mutedUntilMs }: Quiet, atMs: number) {
  return mutedUntilMs === null ? [] : [{ fromMs: atMs, toMs: mutedUntilMs }];
}

/** The person who made it quiet at `atMs`: by the mute, else by a window; null: not quiet. */
export function quietBy(
  { mutedUntilMs, mutedBy, maintenance }: Quiet,
  atMs: number,
): string | null {
  if (mutedUntilMs !== null && mutedUntilMs > atMs) return mutedBy ?? null;
  return maintenance.find(({ fromMs, toMs }) => fromMs <= atMs && toMs > atMs)?.by ?? null;
}

/** Drops a mute and windows that have ended. */
export function dropPast({ maintenance, ...mute }: Quiet, atMs: number): Quiet {
  const isMuted = mute.mutedUntilMs !== null && mute.mutedUntilMs > atMs;
  return {
    ...(isMuted ? mute : { mutedUntilMs: null }),
    maintenance: maintenance.filter(({ toMs }) => toMs > atMs),
  };
}
