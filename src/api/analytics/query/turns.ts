/** Whose query runs when: no workspace takes all that the store has for as long as it likes. */
import { LRUCache } from "lru-cache";
import pLimit, { type LimitFunction } from "p-limit";
import { engineError } from "#api/analytics/engine/engine-error.ts";
import { patienceMs } from "#api/analytics/engine/lanes.ts";

/** The embedded store answers three queries at a time: one of them is always for somebody else. */
const atOnce = 2;

/** More than a page of charts asks for. */
const waitingAtMost = 20;

const maxWorkspaces = 10_000;

export type TakeTurn = ReturnType<typeof createTurns>;

/** `work` is told for how long it may wait further. Throws the `EngineError` of too many queries at the same time. */
export function createTurns(nowMs: () => number = () => performance.now()) {
  const lanes = new LRUCache<string, LimitFunction>({ max: maxWorkspaces });
  return async <Result>(
    workspaceId: string,
    work: (waitAtMostMs: number) => Promise<Result>,
  ): Promise<Result> => {
    const lane = lanes.get(workspaceId) ?? pLimit(atOnce);
    lanes.set(workspaceId, lane);
    if (lane.pendingCount >= waitingAtMost) throw engineError("quota");
    const askedAt = nowMs();
    return lane(async () => {
      const waitAtMostMs = askedAt + patienceMs - nowMs();
      if (waitAtMostMs < 0) throw engineError("quota");
      return work(waitAtMostMs);
    });
  };
}
