/** A receiver of traces by OTLP over HTTP with JSON, as a collector is. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { z } from "zod";
import type { Program } from "../program/program.ts";

const Value = z.union([
  z.object({ stringValue: z.string() }).transform(({ stringValue }) => stringValue),
  z.object({ intValue: z.coerce.number() }).transform(({ intValue }) => intValue),
  z.object({ doubleValue: z.number() }).transform(({ doubleValue }) => doubleValue),
]);

const Attributes = z
  .array(z.object({ key: z.string(), value: z.unknown() }))
  .transform((list) =>
    Object.fromEntries(list.map(({ key, value }) => [key, Value.safeParse(value).data ?? value])),
  );

/** As Unix ms. */
const nanoseconds = z.coerce.bigint().transform((value) => Number(value / 1_000n) / 1_000);

const Span = z.object({
  traceId: z.string().regex(/^[\da-f]{32}$/),
  spanId: z.string().regex(/^[\da-f]{16}$/),
  parentSpanId: z.string().optional(),
  traceState: z.string().optional(),
  name: z.string().min(1),
  /** 1 internal, 2 server, 3 client, 4 producer. */
  kind: z.int().min(1).max(5),
  startTimeUnixNano: nanoseconds,
  endTimeUnixNano: nanoseconds,
  attributes: Attributes,
  status: z.object({ code: z.int().optional() }),
});

const Body = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: Attributes }),
      scopeSpans: z.array(z.object({ spans: z.array(Span) })),
    }),
  ),
});

export type ReceivedSpan = z.infer<typeof Span> & { resource: Record<string, unknown> };

export type OtlpReceiver = Awaited<ReturnType<typeof startOtlpReceiver>>;

/** `isAway`: answers 503 while true. */
export async function startOtlpReceiver() {
  const spans: ReceivedSpan[] = [];
  const state = { isAway: false, refused: 0 };
  const server = createServer(async (request, response) => {
    const body = Body.parse(await json(request));
    if (state.isAway || request.url !== "/v1/traces") {
      state.refused++;
      response.writeHead(503).end();
      return;
    }
    for (const { resource, scopeSpans } of body.resourceSpans) {
      const received = scopeSpans.flatMap((scope) => scope.spans);
      spans.push(...received.map((span) => ({ ...span, resource: resource.attributes })));
    }
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    state,
    /** The spans of this trace, once each. */
    trace: (traceId: string) => {
      const own = spans.filter((span) => span.traceId === traceId);
      return [...new Map(own.map((span) => [span.spanId, span])).values()];
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Returns the spans whose parent is neither among them nor this one. */
export function findOrphans(spans: readonly ReceivedSpan[], root?: string): ReceivedSpan[] {
  const known = new Set([...spans.map(({ spanId }) => spanId), root]);
  return spans.filter(({ parentSpanId }) => parentSpanId && !known.has(parentSpanId));
}

/** The id of the span in which a pipeline calls. */
export const callerSpan = "00f067aa0ba902b7";

/** The header of a caller within this trace. */
export const traceparentIn = (traceId: string) => `00-${traceId}-${callerSpan}-01`;

/** Calls a handler of a program's rollouts as a pipeline does, within this trace. Answers the status. */
export async function callTraced(
  program: Program,
  handler: string,
  { traceId, body }: { traceId: string; body: object },
): Promise<number> {
  const { control } = program.endpoints();
  const answer = await fetch(`${control}/vedette.v1.SentinelRolloutService/singleton/${handler}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${program.token()}`,
      "content-type": "application/json",
      traceparent: traceparentIn(traceId),
      tracestate: "rojo=1",
    },
    body: JSON.stringify(body),
  });
  await answer.text();
  return answer.status;
}
