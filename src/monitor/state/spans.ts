/** The spans of a check's run: its probe, its verdict, and the alert events that follow. By what the transaction has written. */
import type { QueuedOrder } from "#alerts/outbox.ts";
import {
  addSpan,
  childOf,
  flushSpans,
  isTracing,
  type Span,
  seedTrace,
  type Trace,
  toMessageSpan,
} from "#kernel/tracing.ts";
import type { CheckResult } from "#monitor/contract.ts";
import type { Effects } from "./row.ts";

/** Gives alert events the span below which they are delivered: of the verdict about their run, or a trace of their own. */
export function traceOrders({ orders, results }: Effects): QueuedOrder[] {
  if (!isTracing()) return orders;
  const verdicts = verdictsOf(results);
  return orders.map(({ queue, order }) => {
    if (order.transition === undefined) return { queue, order };
    const { checkId, eventId } = order.transition;
    const verdict = verdicts.get(checkId);
    const trace = verdict === undefined ? seedTrace("event", eventId) : childOf(verdict, eventId);
    return trace === undefined ? { queue, order } : { queue, order: { ...order, trace } };
  });
}

/** By check; undefined: its run is not sampled. */
type Verdicts = ReadonlyMap<string, Trace | undefined>;

function verdictsOf(results: readonly CheckResult[]): Verdicts {
  const entries = results.map((result) => {
    const run = runOf(result);
    return [result.checkId, run && verdictOf(run)] as const;
  });
  return new Map(entries);
}

function runOf({ checkId, scheduledAtMs, location }: CheckResult): Trace | undefined {
  return seedTrace("check", checkId, scheduledAtMs, location);
}

const verdictOf = (run: Trace) => childOf(run, "verdict");

/** Records the spans, once all is committed. With an event they are sent at once: its delivery may be another process's. */
export function recordSpans({ results, orders }: Effects): void {
  if (!isTracing()) return;
  const decidedMs = Date.now();
  for (const result of results) {
    const run = runOf(result);
    if (run !== undefined) for (const span of toSpans(result, run, decidedMs)) addSpan(span);
  }
  const verdicts = verdictsOf(results);
  const events = orders.flatMap(({ order }) => toEvent(order, verdicts));
  for (const event of events) addSpan(event);
  if (events.length > 0) flushSpans();
}

function toSpans(result: CheckResult, run: Trace, decidedMs: number): Span[] {
  const { checkId, location, startedAtMs: startMs, durationMs, grade, cause, status } = result;
  const probedMs = startMs + durationMs;
  const endMs = Math.max(probedMs, decidedMs);
  const attributes = { "vedette.check.id": checkId, "vedette.check.location": location };
  const graded = { ...attributes, "vedette.check.grade": grade };
  const error = grade === "failed" ? (cause ?? "_OTHER") : undefined;
  const probe = { ...attributes, "http.response.status_code": status ?? undefined };
  const below = { parent: run, error };
  const [trace, verdict] = [childOf(run, "probe"), verdictOf(run)];
  return [
    { trace: run, name: "check", kind: "internal", startMs, endMs, attributes: graded, error },
    { ...below, trace, name: "probe", kind: "client", startMs, endMs: probedMs, attributes: probe },
    {
      ...{ trace: verdict, parent: run, name: "verdict", kind: "internal" },
      ...{ startMs: probedMs, endMs, attributes: graded },
    },
  ];
}

function toEvent(order: QueuedOrder["order"], verdicts: Verdicts): Span[] {
  const { trace, transition } = order;
  if (trace === undefined || transition === undefined) return [];
  const { checkId, eventId, kind, atMs } = transition;
  const attributes = { "vedette.check.id": checkId, "vedette.alert.event": kind };
  const parent = verdicts.get(checkId);
  return [
    toMessageSpan({ trace, parent, destination: "alert_event", id: eventId, atMs, attributes }),
  ];
}
