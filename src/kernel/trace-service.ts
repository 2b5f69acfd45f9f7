/**
 * Delivers the spans of durable work. Whoever has ended such a span sends it here, as a part of its journal: so it arrives
 * although the process is killed, and an exporter that is away delays nobody.
 */
import { type Context, iface, implement } from "@restatedev/restate-sdk";
import { deliverSpans, type Span } from "./tracing.ts";

export const traceService = iface.service("vedette.v1.Traces", {
  deliver: iface.json<{ spans: Span[] }, null>(),
});

/** The number of spans in a message: about 200 kB. */
const mostAtOnce = 500;

/** Sends ended spans to the exporter, one way. Only where the journal, and not a setting, says that there is a trace. */
export function sendSpans(ctx: Pick<Context, "sendClient">, spans: readonly Span[]): void {
  for (let first = 0; first < spans.length; first += mostAtOnce) {
    const some = spans.slice(first, first + mostAtOnce);
    ctx.sendClient(traceService).deliver({ spans: some });
  }
}

/** The waits before further attempts; then the spans are dropped. */
const waitsMs = [1_000, 10_000, 60_000, 600_000];

export function createTraceService() {
  return implement(traceService, {
    handlers: {
      deliver: async (ctx, { spans }) => {
        for (const waitMs of waitsMs) {
          if (await ctx.run("deliver-spans", () => deliverSpans(spans))) return null;
          await ctx.sleep(waitMs);
        }
        await ctx.run("deliver-spans", () => deliverSpans(spans));
        return null;
      },
    },
    options: { ingressPrivate: true, journalRetention: 0 },
  });
}
