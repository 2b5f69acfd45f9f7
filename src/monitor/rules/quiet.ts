/** Mute and maintenance: when a check may not open an alert. What is open still resolves. */
import type { Quiet } from "#monitor/contract.ts";

export const notQuiet: Quiet = { mutedUntilMs: null, maintenance: [] };

/** Muted until someone says otherwise: the last second that a date in four digits names. */
export const muteForeverMs = Date.UTC(9999, 11, 31, 23, 59, 59);

/** When the quiet that holds at `atMs` ends, windows that follow on each other being one; null: no quiet. */
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

/** Without the windows that are over. */
export function dropPast(quiet: Quiet, atMs: number): Quiet {
  const { mutedUntilMs, maintenance } = quiet;
  return {
    mutedUntilMs: mutedUntilMs !== null && mutedUntilMs > atMs ? mutedUntilMs : null,
    maintenance: maintenance.filter(({ toMs }) => toMs > atMs),
  };
}
