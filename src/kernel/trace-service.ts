/**
 * Delivers the spans of durable work. Whoever has ended such a span sends it here, as a part of its journal: so it arrives
 * although the process is killed, and an exporter that is away delays nobody.
 */
import { type Context, iface, implement } from "@restatedev/restate-sdk";
import { childOf, deliverSpans, type Span, type Trace } from "./tracing.ts";

/** Spans of one kind below one parent, as rows: their message is a tenth as long. `key`: the attribute that they differ in. */
export type SpanTable = Omit<Span, "trace" | "parent" | "endMs" | "error"> & {
  parent: Trace;
  key: string;
  rows: SpanRow[];
};

/** `seed`: with the name that of its id; times: since `startMs` of the table. */
type SpanRow = [seed: number, sinceMs: number, tookMs: number, value: string, error?: string];

type Message = { spans: Span[]; tables?: SpanTable[] };

export const traceService = iface.service("vedette.v1.Traces", {
  deliver: iface.json<Message, null>(),
});

/** Sends ended spans to the exporter, one way. Only where the journal, and not a setting, says that there is a trace. */
export function sendSpans(ctx: Pick<Context, "sendClient">, message: Message): void {
  ctx.sendClient(traceService).deliver(message);
}

function toSpans({ key, rows, startMs, attributes, ...like }: SpanTable): Span[] {
  return rows.map(([seed, sinceMs, tookMs, value, error]) => ({
    ...{ ...like, error, trace: childOf(like.parent, like.name, seed) },
    ...{ startMs: startMs + sinceMs, endMs: startMs + sinceMs + tookMs },
    attributes: { [key]: value, ...attributes },
  }));
}

/** The waits before further attempts; then the spans are dropped. */
const waitsMs = [1_000, 10_000, 60_000, 600_000];

export function createTraceService() {
  return implement(traceService, {
    handlers: {
      deliver: async (ctx, { spans: given, tables = [] }) => {
        const spans = [...given, ...tables.flatMap(toSpans)];
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
