/** analytics.getGatewayRequests and getRuntimeLogs: the wire contract has them, this server has no such rows. */
import { procedure } from "#api/procedure.ts";
import { notConfigured } from "./query/answer.ts";
import { QueryInput, QueryOutput } from "./schemas.ts";

export function getGatewayRequests() {
  return absent("Requests that a gateway served; not kept by this server.");
}

export function getRuntimeLogs() {
  return absent("Logs of deployed applications; not kept by this server.");
}

function absent(summary: string) {
  return procedure({
    summary,
    input: QueryInput,
    output: QueryOutput,
    refusals: [412, 422, 503],
    handle: () => {
      throw notConfigured();
    },
  });
}
