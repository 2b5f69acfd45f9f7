/** Explains each error of the public API and its remedy: the pages that `error.type` links to. */
import type { ErrorCode } from "#api/error.ts";

export type ErrorPage = {
  /** One sentence. */
  means: string;
  /** The caller's remedy. */
  remedy: string;
};

const notFound = (what: string): ErrorPage => ({
  means: `There is no ${what} by this name or id in the workspace of your root key.`,
  remedy: `Check the id and its prefix, and that the root key is for the workspace that has the ${what}. The same error is sent when your root key may not read the ${what}.`,
});

const exists = (what: string): ErrorPage => ({
  means: `The workspace already has ${what} of this name.`,
  remedy: `Use the existing one, or choose another name.`,
});

const analyticsQuery = "The reference page of analytics names the tables, functions and limits.";

export const errorPages: Record<ErrorCode, ErrorPage> = {
  "unkey/application/invalid_input": {
    means: "The request is not what the procedure takes.",
    remedy:
      "Look at `error.errors`: `location` is the keyword of the schema that was broken, `message` says how. An empty list means a rule that no schema can state; then `detail` says it.",
  },
  "unkey/application/protected_resource": {
    means: "The resource is protected against being deleted.",
    remedy: "Remove its delete protection first.",
  },
  "unkey/application/precondition_failed": {
    means: "Something that the procedure needs is not set up for this resource.",
    remedy: "`detail` names what is missing. The same request works once it is there.",
  },
  "unkey/application/hosted_platform_only": {
    means: "The procedure belongs to the hosted platform of the published client.",
    remedy:
      "It is not served here, with any root key. The API reference lists what is; start and deploy programs by tools of your own.",
  },
  "unkey/application/unexpected_error": {
    means: "Something went wrong on this server.",
    remedy:
      "Try again. If it happens again, send the operator `meta.requestId`: the log has the cause.",
  },
  "unkey/application/service_unavailable": {
    means: "Something that the API depends on cannot be reached at the moment.",
    remedy: "Try again in a moment, with growing pauses.",
  },
  "unkey/authentication/malformed": {
    means: "The Authorization header is not `Bearer` and a root key.",
    remedy: "Send `Authorization: Bearer <root key>`.",
  },
  "unkey/authentication/key_not_found": {
    means: "The key in the Authorization header is no root key.",
    remedy:
      "Check that it is complete and a root key: keys of your users cannot call the API. `vedette keys create-root` makes one.",
  },
  "unkey/authorization/insufficient_permissions": {
    means: "The root key lacks a permission that the procedure requires.",
    remedy: "`detail` names it. Use a root key that has it.",
  },
  "unkey/authorization/forbidden": {
    means: "The root key may not be used, for example because it has expired.",
    remedy: "`detail` says why. Use another root key.",
  },
  "unkey/authorization/key_disabled": {
    means: "The root key was disabled.",
    remedy: "Use another root key, or have this one enabled.",
  },
  "unkey/authorization/workspace_disabled": {
    means: "The workspace was disabled by the operator; none of its keys work.",
    remedy: "Ask the operator.",
  },
  "unkey/data/api_not_found": notFound("API"),
  "unkey/data/identity_not_found": notFound("identity"),
  "unkey/data/key_not_found": notFound("key"),
  "unkey/data/migration_not_found": notFound("migration"),
  "unkey/data/permission_not_found": notFound("permission"),
  "unkey/data/ratelimit_namespace_not_found": notFound("rate limit namespace"),
  "unkey/data/ratelimit_override_not_found": notFound("rate limit override"),
  "unkey/data/role_not_found": notFound("role"),
  "unkey/data/workspace_not_found": notFound("workspace"),
  "unkey/data/identity_already_exists": exists("an identity"),
  "unkey/data/permission_already_exists": exists("a permission"),
  "unkey/data/role_already_exists": exists("a role"),
  "unkey/data/ratelimit_namespace_gone": {
    means: "The rate limit namespace was deleted.",
    remedy: "Use another name: that of a deleted namespace is not given again.",
  },
  "unkey/data/analytics_not_configured": {
    means: "Analytics are not set up here.",
    remedy: "Ask the operator. Everything else works without them.",
  },
  "unkey/data/analytics_connection_failed": {
    means: "The store of analytics cannot be reached at the moment.",
    remedy: "Try again in a moment. Nothing that was recorded is lost.",
  },
  "user/bad_request/invalid_analytics_function": {
    means: "The query uses a function that is not allowed.",
    remedy: analyticsQuery,
  },
  "user/bad_request/invalid_analytics_query": {
    means: "The query cannot be read, or is too large.",
    remedy: analyticsQuery,
  },
  "user/bad_request/invalid_analytics_query_type": {
    means: "The query is no single SELECT.",
    remedy: analyticsQuery,
  },
  "user/bad_request/invalid_analytics_table": {
    means: "The query reads a table that queries may not read.",
    remedy: analyticsQuery,
  },
  "user/bad_request/permissions_query_syntax_error": {
    means: "The permissions query cannot be read.",
    remedy:
      "A query is permissions joined by AND and OR, with parentheses: `documents.read AND (teams.a OR teams.b)`.",
  },
  "user/bad_request/query_range_exceeds_retention": {
    means: "The query reads a time range that is no longer stored.",
    remedy: "Query a later time range: `detail` says from when.",
  },
  "user/bad_request/request_body_unreadable": {
    means: "The request is not valid HTTP, or its body could not be read.",
    remedy: "Check the proxies between your program and this server: one may have cut it off.",
  },
  "user/bad_request/request_timeout": {
    means: "The request was not received, or not answered, in time.",
    remedy: "Try again, or request less at once.",
  },
  "user/bad_request/request_body_too_large": {
    means: "The body is larger than 10 MiB.",
    remedy: "Send it in several requests.",
  },
  "user/unprocessable_entity/query_execution_timeout": {
    means: "The query took too long.",
    remedy: "Query a shorter time range, or a table of sums by hour or day.",
  },
  "user/unprocessable_entity/query_memory_limit_exceeded": {
    means: "The query needs more memory than it may use.",
    remedy: "Query a shorter time range, group by fewer columns, or limit the rows.",
  },
  "user/unprocessable_entity/query_rows_limit_exceeded": {
    means: "The query reads or answers more rows than it may.",
    remedy: "Query a shorter time range, or limit the rows.",
  },
  "user/too_many_requests/query_quota_exceeded": {
    means: "The workspace has used up its analytics queries for now.",
    remedy: "Wait, and send fewer queries.",
  },
  "user/too_many_requests/workspace_rate_limited": {
    means: "The workspace makes more calls in a minute than it may.",
    remedy: "Wait for as many seconds as the `Retry-After` header says.",
  },
};
