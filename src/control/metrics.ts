/** Metrics of the calls that operators, pipelines and the console make. */
import { Histogram, type Registry } from "prom-client";
import { operations, rolloutServiceName } from "#rollout/contract.ts";
import type { Ingress, IngressAnswer } from "./ingress.ts";

/** Upper bounds of the buckets, seconds. A call that blocks takes as long as its rollout. */
const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120, 600, 3_600];

/** Counts calls and times them, waits included. Names are of the allow-list; a call nobody waits for has `/send`. */
export function timeCalls(ingress: Ingress, registry: Registry): Ingress {
  const seconds = new Histogram({
    name: "vedette_control_call_duration_seconds",
    help: "How long calls to handlers took, by result: ok, refused, failed, or gone (the caller went away).",
    labelNames: ["service", "handler", "result"],
    buckets,
    registers: [registry],
  });
  // Prometheus sees no increase of a series that appears with its first value.
  for (const handler of operations) {
    seconds.zero({ service: rolloutServiceName, handler, result: "ok" });
  }
  return {
    ...ingress,
    call: async (call) => {
      const stop = seconds.startTimer(namesOf(call.path));
      try {
        const answer = await ingress.call(call);
        stop({ result: resultOf(answer) });
        return answer;
      } catch (error) {
        stop({ result: call.signal.aborted ? "gone" : "failed" });
        throw error;
      }
    },
  };
}

/** `/vedette.v1.ApiCheck/<id>/Mute` and `/vedette.v1.Fleet/List` have their handler last. */
function namesOf(path: string): { service: string; handler: string } {
  const isSend = path.endsWith("/send");
  const parts = path.split("/").slice(1, isSend ? -1 : undefined);
  const handler = parts.at(-1) ?? "";
  return { service: parts[0] ?? "", handler: isSend ? `${handler}/send` : handler };
}

function resultOf({ status }: IngressAnswer): string {
  if (status < 400) return "ok";
  return status < 500 ? "refused" : "failed";
}
