/** The guard's refusals, each with its code of the wire contract. */
import { ApiError } from "#api/error.ts";

type QueryFault =
  | "user/bad_request/invalid_analytics_query"
  | "user/bad_request/invalid_analytics_query_type"
  | "user/bad_request/invalid_analytics_table"
  | "user/bad_request/invalid_analytics_function"
  | "user/bad_request/query_range_exceeds_retention";

const codeOf = {
  syntax: "user/bad_request/invalid_analytics_query",
  type: "user/bad_request/invalid_analytics_query_type",
  table: "user/bad_request/invalid_analytics_table",
  function: "user/bad_request/invalid_analytics_function",
  retention: "user/bad_request/query_range_exceeds_retention",
} as const satisfies Record<string, QueryFault>;

/** The 400 of a refused query. */
export function refuse(fault: keyof typeof codeOf, detail: string): ApiError {
  return new ApiError(codeOf[fault], detail);
}
