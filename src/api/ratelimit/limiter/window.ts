/** The sliding window: the current count plus the share of the previous one within the last duration. `take.lua` does the same. */
import type { LimitAnswer, LimitRequest, TakeAnswer } from "#api/limiter.ts";

/** The counter of one limit. `sequence`: the number of the window since 1970. */
export type Cell = {
  readonly sequence: number;
  readonly current: number;
  readonly previous: number;
};

/** A point in time relative to a limit's windows. `left`: the share of the previous window that still counts. */
export type Moment = { sequence: number; left: number; endsMs: number };

function momentOf(durationMs: number, nowMs: number): Moment {
  const sequence = Math.floor(nowMs / durationMs);
  const left = 1 - (nowMs % durationMs) / durationMs;
  return { sequence, left, endsMs: (sequence + 1) * durationMs };
}

/**
 * The moment at which a call is counted. One that comes when the next window has begun in its cell, since its time was
 * taken before it got to the cell, or since a clock was set back, counts at that window's beginning: the cell's
 * window never goes back, as the one before would be forgotten.
 */
export function momentIn(cell: Cell | undefined, durationMs: number, nowMs: number): Moment {
  const moment = momentOf(durationMs, nowMs);
  return cell?.sequence === moment.sequence + 1
    ? momentOf(durationMs, cell.sequence * durationMs)
    : moment;
}

/** The cell as of `sequence`. One that is a window ahead, by the clock of another process, continues. */
export function rebase(cell: Cell | undefined, sequence: number): Cell {
  const age = cell === undefined ? Number.NaN : sequence - cell.sequence;
  if (cell === undefined || age > 1 || age < -1) return { sequence, current: 0, previous: 0 };
  if (age === 1) return { sequence, current: 0, previous: cell.current };
  return { sequence, current: cell.current, previous: cell.previous };
}

export function usedOf({ current, previous }: Cell, { left }: Moment): number {
  return current + Math.floor(previous * left);
}

/** Limit 0 blocks, even a cost of 0. */
export function fits({ limit, cost }: LimitRequest, used: number): boolean {
  return limit > 0 && used + cost <= limit;
}

/** A limit in a batch. `used`: by others and earlier requests of the batch; `usedByOthers`: without the batch. */
export type Usage = { passed: boolean; used: number; usedByOthers: number; endsMs: number };

/** The answers to a batch; one that fails counts none of its requests. */
export function answerBatch(requests: readonly LimitRequest[], all: readonly Usage[]): TakeAnswer {
  const passed = all.every((usage) => usage.passed);
  const answers = all.map((usage, index) =>
    answerOne(requests[index] as LimitRequest, usage, passed),
  );
  return { passed, answers };
}

/** `isCounted`: whether the whole batch passed. */
export function answerOne(
  { limit, cost }: LimitRequest,
  { passed, used, usedByOthers, endsMs }: Usage,
  isCounted: boolean,
): LimitAnswer {
  const usedThen = isCounted ? used + cost : usedByOthers;
  const remaining = passed ? Math.max(0, limit - usedThen) : 0;
  return { passed, remaining, resetMs: endsMs };
}
