/** Limits as the reference describes them, counted the slow way: from a list of all that has passed. */
import fc from "fast-check";
import type { LimitRequest, TakeAnswer } from "#api/limiter.ts";

type Passed = { key: string; durationMs: number; atMs: number; cost: number };

/** Takes a batch as an engine does; time never goes back. */
export function createLimitModel() {
  const passed: Passed[] = [];
  return (requests: readonly LimitRequest[], nowMs: number): TakeAnswer => {
    const before = passed.length;
    const looks = requests.map((request) => {
      const { key, limit, durationMs, cost } = request;
      const used = usedOf(passed, request, nowMs);
      const fits = limit !== 0 && used + cost <= limit;
      if (fits) passed.push({ key, durationMs, atMs: nowMs, cost });
      return { fits, left: limit - used - cost };
    });
    const all = looks.every(({ fits }) => fits);
    if (!all) passed.length = before;
    const answers = requests.map((request, index) => {
      const { fits, left } = looks[index] as (typeof looks)[number];
      const unspent = request.limit - usedOf(passed, request, nowMs);
      return {
        passed: fits,
        remaining: fits ? Math.max(0, all ? left : unspent) : 0,
        resetMs: nowMs - (nowMs % request.durationMs) + request.durationMs,
      };
    });
    return { passed: all, answers };
  };
}

/** What has passed in this window, and the share of the window before that still reaches into it. */
function usedOf(passed: readonly Passed[], request: LimitRequest, nowMs: number): number {
  const { key, durationMs } = request;
  const startMs = nowMs - (nowMs % durationMs);
  const sumFrom = (fromMs: number) =>
    passed
      .filter((one) => one.key === key && one.durationMs === durationMs)
      .filter(({ atMs }) => atMs >= fromMs && atMs < fromMs + durationMs)
      .reduce((sum, { cost }) => sum + cost, 0);
  const elapsed = (nowMs - startMs) / durationMs;
  return sumFrom(startMs) + Math.floor(sumFrom(startMs - durationMs) * (1 - elapsed));
}

/** A batch, and how long after the one before it came. */
export type LimitStep = { waitMs: number; requests: LimitRequest[] };

/** Few keys and small limits, so that batches meet each other, and themselves. */
const requestOf = (workspaceId: string) =>
  fc.record({
    key: fc.constantFrom("a", "b", "c/d").map((name) => `${workspaceId}/${name}`),
    limit: fc.oneof(fc.integer({ min: 0, max: 8 }), fc.constantFrom(100, 1e15)),
    durationMs: fc.constantFrom(1_000, 1_500, 60_000, 1e15),
    cost: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.constantFrom(50, 1e14)),
  });

const batchOf = (workspaceId: string) =>
  fc.array(requestOf(workspaceId), { minLength: 1, maxLength: 5 });

const waitMs = fc.oneof(
  fc.integer({ min: 0, max: 900 }),
  fc.constantFrom(0, 1_000, 3_001, 200_000),
);

export const limitSteps: fc.Arbitrary<LimitStep[]> = fc.array(
  fc.record({ waitMs, requests: batchOf("ws_1") }),
  { minLength: 1, maxLength: 40 },
);

/** Batches that come in the same moment, and how long after those before them. */
export type LimitTurn = { waitMs: number; calls: LimitRequest[][] };

const callOf = (workspaceId: string) =>
  fc.oneof(
    requestOf(workspaceId).map((request) => [request]),
    batchOf(workspaceId),
  );

/** Of two workspaces, most of one limit and often of the same one. */
export const limitTurns: fc.Arbitrary<LimitTurn[]> = fc.array(
  fc.record({
    waitMs,
    calls: fc.oneof(
      fc.array(fc.oneof(callOf("ws_1"), callOf("ws_2")), { minLength: 1, maxLength: 5 }),
      fc
        .array(requestOf("ws_1"), { minLength: 2, maxLength: 5 })
        .map((all) => all.map((one) => [one])),
    ),
  }),
  { minLength: 1, maxLength: 30 },
);
