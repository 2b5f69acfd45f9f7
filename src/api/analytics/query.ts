/** Queries of a workspace: their answer, their share, and their turn. */
import { LRUCache } from "lru-cache";
import type { LimitFunction } from "p-limit";
import pLimit from "p-limit";
import { laneTimeoutMs } from "#api/analytics/engine/engine.ts";
import {
  EngineError,
  type EngineFailure,
  engineError,
} from "#api/analytics/engine/engine-error.ts";
import { ApiError, type ErrorCode } from "#api/error.ts";
import type { Limiter } from "#api/limiter.ts";
import type { Call } from "#api/procedure.ts";

const codes: Record<EngineFailure, ErrorCode> = {
  invalid: "user/bad_request/invalid_analytics_query",
  timeout: "user/unprocessable_entity/query_execution_timeout",
  memory: "user/unprocessable_entity/query_memory_limit_exceeded",
  rows: "user/unprocessable_entity/query_rows_limit_exceeded",
  size: "user/unprocessable_entity/query_rows_limit_exceeded",
  quota: "user/too_many_requests/query_quota_exceeded",
  away: "unkey/data/analytics_connection_failed",
  absent: "unkey/data/analytics_not_configured",
};

/** The store's errors as those of the wire contract. */
export function toApiError(error: unknown): unknown {
  if (!(error instanceof EngineError)) return error;
  return new ApiError(codes[error.failure], error.message, { cause: error });
}

export function notConfigured(): ApiError {
  return new ApiError(codes.absent, "Analytics are not configured for this kind of data.");
}

/** Limit of a workspace, over all its root keys. */
export const queriesPerHour = 1_000;
const hourMs = 3_600_000;

/** A timed-out query counts as so many: it may have ended the embedded store, for whose restart all others wait. */
export const slowQueryCost = 50;

/** Counts a query. Throws the 429 for a workspace that has none left. */
export async function spendQuery(limiter: Limiter, call: Call): Promise<void> {
  const { passed } = await limiter.take([quotaOf(call, 1)], call.nowMs);
  if (passed) return;
  throw new ApiError(
    "user/too_many_requests/query_quota_exceeded",
    `This workspace has used its ${queriesPerHour} analytics queries of the hour.`,
  );
}

/** Adds the rest of the cost of a query that was counted already and has timed out. */
export async function spendSlowQuery(limiter: Limiter, call: Call): Promise<void> {
  await limiter.take([quotaOf(call, slowQueryCost - 1)], call.nowMs);
}

function quotaOf({ workspaceId }: Call, cost: number) {
  return { key: `analytics:${workspaceId}`, limit: queriesPerHour, durationMs: hourMs, cost };
}

/** The embedded store runs three queries at a time: one of them is always left to other workspaces. */
const atOnce = 2;

/** More than a page of charts requests. */
const waitingAtMost = 20;

const maxWorkspaces = 10_000;

/** Fair scheduling of queries: no workspace occupies the whole store. */
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
