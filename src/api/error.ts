/** Why the public API refuses a request: the error codes of the wire contract. */

/** Code (the suffix of the body's `type`), status and title. */
export const errorCatalogue = {
  "unkey/application/invalid_input": [400, "Bad Request"],
  "unkey/application/protected_resource": [412, "Resource is protected"],
  "unkey/application/precondition_failed": [412, "Precondition Failed"],
  "unkey/application/hosted_platform_only": [404, "Not Found"],
  "unkey/application/unexpected_error": [500, "Internal Server Error"],
  "unkey/application/service_unavailable": [503, "Service Unavailable"],
  "unkey/authentication/malformed": [400, "Bad Request"],
  "unkey/authentication/key_not_found": [401, "Unauthorized"],
  "unkey/authorization/insufficient_permissions": [403, "Insufficient Permissions"],
  "unkey/authorization/forbidden": [403, "Forbidden"],
  "unkey/authorization/key_disabled": [403, "Key is disabled"],
  "unkey/authorization/workspace_disabled": [403, "Workspace is disabled"],
  "unkey/data/api_not_found": [404, "Not Found"],
  "unkey/data/identity_not_found": [404, "Not Found"],
  "unkey/data/key_not_found": [404, "Not Found"],
  "unkey/data/migration_not_found": [404, "Not Found"],
  "unkey/data/permission_not_found": [404, "Not Found"],
  "unkey/data/ratelimit_namespace_not_found": [404, "Not Found"],
  "unkey/data/ratelimit_override_not_found": [404, "Not Found"],
  "unkey/data/role_not_found": [404, "Not Found"],
  "unkey/data/workspace_not_found": [404, "Not Found"],
  "unkey/data/identity_already_exists": [409, "Conflicting Resource"],
  "unkey/data/permission_already_exists": [409, "Conflicting Resource"],
  "unkey/data/role_already_exists": [409, "Conflicting Resource"],
  "unkey/data/ratelimit_namespace_gone": [410, "Resource Gone"],
  "unkey/data/analytics_not_configured": [412, "Precondition Failed"],
  "unkey/data/analytics_connection_failed": [503, "Service Unavailable"],
  "user/bad_request/invalid_analytics_function": [400, "Bad Request"],
  "user/bad_request/invalid_analytics_query": [400, "Bad Request"],
  "user/bad_request/invalid_analytics_query_type": [400, "Bad Request"],
  "user/bad_request/invalid_analytics_table": [400, "Bad Request"],
  "user/bad_request/permissions_query_syntax_error": [400, "Bad Request"],
  "user/bad_request/query_range_exceeds_retention": [400, "Bad Request"],
  "user/bad_request/request_body_unreadable": [400, "Bad Request"],
  "user/bad_request/request_timeout": [408, "Request Timeout"],
  "user/bad_request/request_body_too_large": [413, "Request Entity Too Large"],
  "user/unprocessable_entity/query_execution_timeout": [422, "Unprocessable Entity"],
  "user/unprocessable_entity/query_memory_limit_exceeded": [422, "Unprocessable Entity"],
  "user/unprocessable_entity/query_rows_limit_exceeded": [422, "Unprocessable Entity"],
  "user/too_many_requests/query_quota_exceeded": [429, "Too Many Requests"],
  "user/too_many_requests/workspace_rate_limited": [429, "Too Many Requests"],
} as const satisfies Record<string, readonly [status: number, title: string]>;

export type ErrorCode = keyof typeof errorCatalogue;

/** One fault of a request body: where in the schema, and what is wrong. */
export type Fault = { location: string; message: string; fix?: string };

/** A refusal that the caller can act on. `message` is the answer's `detail`. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly faults: readonly Fault[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ErrorCode,
    detail: string,
    extra: { faults?: Fault[]; headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(detail, extra.cause === undefined ? undefined : { cause: extra.cause });
    this.name = "ApiError";
    this.code = code;
    this.faults = extra.faults ?? [];
    this.headers = extra.headers ?? {};
  }

  get status(): number {
    return errorCatalogue[this.code][0];
  }
}

/** The 400 of a rule that no schema can express. */
export function invalidInput(detail: string): ApiError {
  return new ApiError("unkey/application/invalid_input", detail);
}

/** Statuses whose body always has a list of faults, even an empty one. */
const withFaults = new Set([400, 408, 413]);

/** The path of this server's error pages. Without a host: the request's Host header may be anything. */
const ownDocs = "/docs/errors";

/** The body of a refusal. `docsUrl` has no trailing slash; the code is appended. Empty: `ownDocs`. */
export function errorBody(error: ApiError, to: { requestId: string; docsUrl: string }) {
  const [status, title] = errorCatalogue[error.code];
  return {
    meta: { requestId: to.requestId },
    error: {
      title,
      detail: error.message,
      status,
      type: `${to.docsUrl || ownDocs}/${error.code}`,
      ...(withFaults.has(status) && { errors: error.faults }),
    },
  };
}
