/** analytics.getGatewayRequests and getRuntimeLogs: the wire contract has them, this server has no such rows. */
import { procedure } from "#api/procedure.ts";
import { type QueryExample, QueryInput, QueryOutput } from "./parts.ts";
import { notConfigured } from "./query.ts";

export function getGatewayRequests() {
  return absent("Requests that a gateway served; not kept by this server.", {
    body: { query: "SELECT count() AS n FROM gateway_requests_v1" },
    data: [],
  });
}

export function getRuntimeLogs() {
  return absent("Logs of deployed applications; not kept by this server.", {
    body: { query: "SELECT count() AS n FROM runtime_logs_v1" },
    data: [],
  });
}

function absent(summary: string, example: QueryExample) {
  return procedure({
    summary,
    input: QueryInput,
    output: QueryOutput,
    example,
    refusals: [412, 422, 503],
    handle: () => {
      throw notConfigured();
    },
  });
}
