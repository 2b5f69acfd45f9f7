/**
 * How a sliding window is counted: time is cut into windows of the limit's duration, aligned to the
 * epoch; what counts is the current window and the share of the one before that still reaches into
 * the last duration. `take.lua` does the same in Redis.
 */
import type { LimitAnswer, LimitRequest, TakeAnswer } from "#api/limiter.ts";

/** What is counted of one limit. `sequence`: the number of the window since 1970. */
export type Cell = {
  readonly sequence: number;
  readonly current: number;
  readonly previous: number;
};

/** A point of time as a limit sees it. `left`: the share of the window before that still counts. */
export type Moment = { sequence: number; left: number; endsMs: number };

export function momentOf(durationMs: number, nowMs: number): Moment {
  const sequence = Math.floor(nowMs / durationMs);
  const left = 1 - (nowMs % durationMs) / durationMs;
  return { sequence, left, endsMs: (sequence + 1) * durationMs };
}

/** The cell as of `sequence`. A window that comes again, because a clock was set back, goes on. */
export function rebase(cell: Cell | undefined, sequence: number): Cell {
  const age = cell === undefined ? Number.NaN : sequence - cell.sequence;
  if (cell === undefined || age > 1 || age < -1) return { sequence, current: 0, previous: 0 };
  if (age === 1) return { sequence, current: 0, previous: cell.current };
  return { sequence, current: cell.current, previous: cell.previous };
}

export function usedOf({ current, previous }: Cell, { left }: Moment): number {
  return current + Math.floor(previous * left);
}

/** Limit 0 blocks, even who only looks. */
export function fits({ limit, cost }: LimitRequest, used: number): boolean {
  return limit > 0 && used + cost <= limit;
}

/**
 * One request of a batch as it was looked at. `used`: by others and by the requests of the batch
 * before this one; `usedByOthers`: when nothing of the batch counts.
 */
export type Look = { passed: boolean; used: number; usedByOthers: number; endsMs: number };

/** The answers: a batch that fails gives back what its requests had taken. */
export function answerBatch(requests: readonly LimitRequest[], looks: readonly Look[]): TakeAnswer {
  const passed = looks.every((look) => look.passed);
  const answers = looks.map((look, index) =>
    answerOne(requests[index] as LimitRequest, look, passed),
  );
  return { passed, answers };
}

/** `isCounted`: whether the batch passed, all of it. */
export function answerOne(
  { limit, cost }: LimitRequest,
  { passed, used, usedByOthers, endsMs }: Look,
  isCounted: boolean,
): LimitAnswer {
  const usedThen = isCounted ? used + cost : usedByOthers;
  const remaining = passed ? Math.max(0, limit - usedThen) : 0;
  return { passed, remaining, resetMs: endsMs };
}
