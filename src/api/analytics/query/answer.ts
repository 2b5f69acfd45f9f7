/** The store's errors as those of the wire contract. */
import { EngineError, type EngineFailure } from "#api/analytics/engine/engine-error.ts";
import { ApiError, type ErrorCode } from "#api/error.ts";

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

export function toApiError(error: unknown): unknown {
  if (!(error instanceof EngineError)) return error;
  return new ApiError(codes[error.failure], error.message, { cause: error });
}

export function notConfigured(): ApiError {
  return new ApiError(codes.absent, "Analytics are not configured for this kind of data.");
}
