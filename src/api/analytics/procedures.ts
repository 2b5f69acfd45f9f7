/** The namespace `analytics`: SQL queries on recorded verifications and rate limit decisions. */
import type { Procedures } from "#api/procedure.ts";
import { getGatewayRequests, getRuntimeLogs } from "./not-recorded.ts";
import type { AnalyticsParts } from "./parts.ts";
import { createTurns } from "./query.ts";
import { getRatelimits, getVerifications } from "./query-rows.ts";

export function analyticsProcedures(parts: AnalyticsParts): Procedures {
  const shared = { parts, takeTurn: createTurns() };
  return {
    getGatewayRequests: getGatewayRequests(),
    getRatelimits: getRatelimits(shared),
    getRuntimeLogs: getRuntimeLogs(),
    getVerifications: getVerifications(shared),
  };
}
