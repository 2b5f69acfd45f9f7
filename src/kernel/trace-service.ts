/**
 * Delivers the spans of durable work. Whoever has ended such a span sends it here, as a part of its journal: so it arrives
 * although the process is killed, and an exporter that is away delays nobody.
 */
import { type Context, iface, implement } from "@restatedev/restate-sdk";
import { deliverSpans, memberOf, type Span, type Trace } from "./tracing.ts";

/** Spans with much in common. A row: the number of a member of `parent`, start, end, and its own value of attribute `key`. */
export type SpanTable = Pick<Span, "name" | "kind" | "attributes" | "error"> & {
  parent: Trace;
  key: string;
  rows: [number: number, startMs: number, endMs: number, value: string][];
};

type Message = { spans: Span[]; tables?: SpanTable[] };

export const traceService = iface.service("vedette.v1.Traces", {
  deliver: iface.json<Message, null>(),
});

/** Sends ended spans to the exporter, one way. Only where the journal, and not a setting, says that there is a trace. */
export function sendSpans(ctx: Pick<Context, "sendClient">, message: Message): void {
  ctx.sendClient(traceService).deliver(message);
}

function toSpans({ key, rows, attributes, ...like }: SpanTable): Span[] {
  return rows.map(([number, startMs, endMs, value]) => {
    const of = { trace: memberOf(like.parent, number), startMs, endMs };
    return { ...like, ...of, attributes: { [key]: value, ...attributes } };
  });
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
