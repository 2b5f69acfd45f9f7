/** The quota of queries of a workspace in an hour. */
import { ApiError } from "#api/error.ts";
import type { Limiter } from "#api/limiter.ts";
import type { Call } from "#api/procedure.ts";

/** Limit of a workspace, over all its root keys. */
export const queriesPerHour = 1_000;
const hourMs = 3_600_000;

/**
 * A query that timed out counts as so many: it may have ended the embedded store, for whose restart all others
 * wait, which must not happen a thousand times an hour.
 */
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
