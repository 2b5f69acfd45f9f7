/** How much a workspace may ask of the store in an hour. */
import { ApiError } from "#api/error.ts";
import type { Limiter } from "#api/limiter.ts";
import type { Call } from "#api/procedure.ts";

/** Queries of a workspace, whoever asks them. */
export const queriesPerHour = 1_000;
const hourMs = 3_600_000;

/**
 * What a query counts as that used up all its time: it may have ended the embedded store with it, and
 * others would have to wait for that a thousand times an hour.
 */
export const slowQueryCost = 50;

/** Throws the 429 of a workspace that has none left. */
export async function spendQuery(limiter: Limiter, call: Call): Promise<void> {
  const { passed } = await limiter.take([quotaOf(call, 1)], call.nowMs);
  if (passed) return;
  throw new ApiError(
    "user/too_many_requests/query_quota_exceeded",
    `This workspace has used its ${queriesPerHour} analytics queries of the hour.`,
  );
}

/** For a query that was spent already, and turned out to be slow. */
export async function spendSlowQuery(limiter: Limiter, call: Call): Promise<void> {
  await limiter.take([quotaOf(call, slowQueryCost - 1)], call.nowMs);
}

function quotaOf({ workspaceId }: Call, cost: number) {
  return { key: `analytics:${workspaceId}`, limit: queriesPerHour, durationMs: hourMs, cost };
}
