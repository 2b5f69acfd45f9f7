/** Fair scheduling of queries: no workspace occupies the whole store. */
import { LRUCache } from "lru-cache";
import pLimit, { type LimitFunction } from "p-limit";
import { engineError } from "#api/analytics/engine/engine-error.ts";
import { laneTimeoutMs } from "#api/analytics/engine/lanes.ts";

/** The embedded store runs three queries at a time: one of them is always left to other workspaces. */
const atOnce = 2;

/** More than a page of charts requests. */
const waitingAtMost = 20;

const maxWorkspaces = 10_000;

export type TakeTurn = ReturnType<typeof createTurns>;

/** `work` gets the rest of the time that it may wait. Throws the `EngineError` of too many queries at the same time. */
export function createTurns(nowMs: () => number = () => performance.now()) {
  const lanes = new LRUCache<string, LimitFunction>({ max: maxWorkspaces });
  return async <Result>(
    workspaceId: string,
    work: (waitAtMostMs: number) => Promise<Result>,
  ): Promise<Result> => {
    const lane = lanes.get(workspaceId) ?? pLimit(atOnce);
    lanes.set(workspaceId, lane);
    if (lane.pendingCount >= waitingAtMost) throw engineError("quota");
    const queuedAt = nowMs();
    return lane(async () => {
      const waitAtMostMs = queuedAt + laneTimeoutMs - nowMs();
      if (waitAtMostMs < 0) throw engineError("quota");
      return work(waitAtMostMs);
    });
  };
}
