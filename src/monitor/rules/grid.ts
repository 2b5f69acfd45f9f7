/** When an API check runs: on a grid of its own, so that a late run never moves the next one. Pure. */
import { createHash } from "node:crypto";

/** Grid points are `offsetMs + n * everyMs` after 1970. */
export type Grid = { everyMs: number; offsetMs: number };

/**
 * The id says in which second of its period a check runs: many checks do not all run at once. Those of
 * the same second do: together they cost a fifth less.
 */
export function gridOf({ id, frequencySeconds }: { id: string; frequencySeconds: number }): Grid {
  const spread = createHash("sha256").update(id).digest().readUInt32BE();
  return { everyMs: frequencySeconds * 1_000, offsetMs: (spread % frequencySeconds) * 1_000 };
}

/** The first grid point after `atMs`. */
export function nextTick({ everyMs, offsetMs }: Grid, atMs: number): number {
  return (Math.floor((atMs - offsetMs) / everyMs) + 1) * everyMs + offsetMs;
}

/**
 * Whether a timer may be due then. One that is due further away was set while the clock was wrong, and
 * would leave the check alone until the clock says so again.
 */
export function isWithinReach(grid: Grid, { dueMs, nowMs }: { dueMs: number; nowMs: number }) {
  return dueMs <= nextTick(grid, nowMs) + grid.everyMs;
}

/**
 * What to wait for after the tick of `lastMs`: none twice, should the clock go back a little. One that was
 * that far ahead was wrong, and keeps nobody waiting.
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
  /** The tick to run now; null: it is too late for it. */
  runAtMs: number | null;
  /** Ticks that nobody ran and nobody will; null: none. */
  missed: MissedRuns | null;
  nextMs: number;
};

/**
 * What a timer finds that was set for `dueMs` and fired at `nowMs`. Ticks are not made up for; the
 * last one still runs unless its period is half over, since then its run would reach into the next.
 */
export function planWake(grid: Grid, { dueMs, nowMs }: { dueMs: number; nowMs: number }): Wake {
  // The clock that fires may be a little behind: never the same tick twice. Far behind it was set back
  // since, and the next tick would be as far away.
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
