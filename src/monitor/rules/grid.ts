/** Computes when an API check runs: on a grid of its own, so that a late run never delays the next one. Pure. */
import { createHash } from "node:crypto";

/** Grid points are `offsetMs + n * everyMs` after 1970. */
export type Grid = { everyMs: number; offsetMs: number };

/**
 * Returns the grid of a check: a hash of the id decides in which second of its period it runs, so that not all run at
 * once. Those of one second run together, which costs a fifth less.
 */
export function gridOf({ id, frequencySeconds }: { id: string; frequencySeconds: number }): Grid {
  const spread = createHash("sha256").update(id).digest().readUInt32BE();
  return { everyMs: frequencySeconds * 1_000, offsetMs: (spread % frequencySeconds) * 1_000 };
}

/** The first grid point after `atMs`. */
export function nextTick({ everyMs, offsetMs }: Grid, atMs: number): number {
  return (Math.floor((atMs - offsetMs) / everyMs) + 1) * everyMs + offsetMs;
}

export function isTick(grid: Grid, atMs: number): boolean {
  return nextTick(grid, atMs - 1) === atMs;
}

/**
 * True if a due time is plausible. A timer that is due later was set while the clock was ahead, and would stop the
 * check until then.
 */
export function isWithinReach(grid: Grid, { dueMs, nowMs }: { dueMs: number; nowMs: number }) {
  return dueMs <= nextTick(grid, nowMs) + grid.everyMs;
}

/**
 * The tick after that of `lastMs`: not the same one again after the clock was set back a little. If
 * `lastMs` is so far ahead that the clock must have been wrong, the next tick from now.
 */
export function tickAfter(
  grid: Grid,
  { lastMs, nowMs }: { lastMs: number; nowMs: number },
): number {
  const dueMs = nextTick(grid, Math.max(nowMs, lastMs));
  return isWithinReach(grid, { dueMs, nowMs }) ? dueMs : nextTick(grid, nowMs);
}

export type MissedRuns = { fromMs: number; toMs: number; ticks: number };

export type Wake = {
  /** The tick to run now; null: it is too late to run it. */
  runAtMs: number | null;
  /** Ticks that were not run and will not be; null: none. */
  missed: MissedRuns | null;
  nextMs: number;
};

/**
 * Decides what to do when a timer that was set for `dueMs` fires at `nowMs`. Missed ticks are skipped. The last one
 * still runs, unless half of its period is over, since its run would then overlap the next.
 */
export function planWake(grid: Grid, { dueMs, nowMs }: { dueMs: number; nowMs: number }): Wake {
  // Our clock may be slightly behind the one that fired: never run the same tick twice. If it is far
  // behind, it was set back: then start from now, or the next tick would be as far away.
  const atMs = dueMs - nowMs > grid.everyMs ? nowMs : Math.max(nowMs, dueMs);
  const nextMs = nextTick(grid, atMs);
  const lastMs = nextMs - grid.everyMs;
  const isLate = atMs - lastMs > grid.everyMs / 2;
  const toMs = isLate ? lastMs : lastMs - grid.everyMs;
  const ticks = Math.floor((toMs - dueMs) / grid.everyMs) + 1;
  return {
    runAtMs: isLate ? null : lastMs,
    missed: ticks > 0 ? { fromMs: toMs - (ticks - 1) * grid.everyMs, toMs, ticks } : null,
    nextMs,
  };
}
