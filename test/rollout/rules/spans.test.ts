import { expect, it } from "vitest";
import type { Span } from "#kernel/tracing.ts";
import type { RolloutEvent } from "#rollout/rules/messages.ts";
import { logFields, parentOf, traceTransition } from "#rollout/rules/spans.ts";
import type { RolloutHead } from "#rollout/state.ts";
import { buildHead } from "../../support/rollout/rollout-builders.ts";

const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01";

type Step = { event: RolloutEvent } & Partial<RolloutHead>;

/** Goes through the transitions; returns the spans that are no messages, and what is open at the end. */
function walk(steps: readonly Step[]) {
  let head = { ...buildHead({}), trace: { trace, parent } } as RolloutHead & {
    trace: NonNullable<RolloutHead["trace"]>;
  };
  const spans: Span[] = [];
  for (const [i, { event, ...changes }] of steps.entries()) {
    const given = { ...head, ...changes, sequence: i + 1 };
    const next = traceTransition(given, { event, nowMs: i * 1_000 });
    head = { ...given, trace: next.trace };
    spans.push(...next.spans);
  }
  const { held = [], ...open } = head.trace;
  spans.push(...held);
  return {
    open,
    held,
    messages: spans.filter(({ kind }) => kind === "producer"),
    spans: spans.filter(({ kind }) => kind !== "producer"),
  };
}

const begun: Step[] = [
  { event: "rollout started", state: "in_progress" },
  { event: "wave started", currentWave: 1 },
];

it("a rollout that completes has its caller as parent, and each wave below it", () => {
  const { spans, open } = walk([
    ...begun,
    { event: "wave completed" },
    { event: "completed", state: "completed" },
  ]);

  expect(spans).toMatchObject([
    { name: "wave", parent: trace, startMs: 1_000, endMs: 2_000 },
    { name: "rollout", trace, parent, startMs: 0, endMs: 3_000 },
  ]);
  expect(open).toEqual({ trace, parent });
});

it("a pause ends wave and run with its cause; what follows is below the first run", () => {
  const { spans, messages } = walk([
    ...begun,
    { event: "paused", state: "paused", cause: "failures" },
    { event: "rollback started", state: "rolling_back", cause: "failures" },
    { event: "rollback completed", state: "cancelled" },
  ] as Step[]);

  expect(spans).toMatchObject([
    { name: "wave", error: "failures" },
    { name: "rollout", error: "failures", attributes: { "deployment.status": "failed" } },
    { name: "roll back rollout", parent: trace, startMs: 3_000, endMs: 4_000 },
  ]);
  expect(new Set([...spans, ...messages].map((span) => span.trace)).size).toBe(
    spans.length + messages.length,
  );
});

it("a message is below what runs when it is sent", () => {
  const { messages, open } = walk(begun);

  expect(messages.map((message) => message.parent)).toEqual([trace, open.wave?.trace]);
  expect(parentOf(open)).toBe(open.wave?.trace);
  expect(logFields({ trace: open }).span_id).toBe(open.wave?.trace.slice(36, 52));
  expect(logFields({})).toEqual({});
});

it("the spans of a run's first ten seconds are sent together, and after that at once", () => {
  const wave: Step[] = [{ event: "wave started" }, { event: "wave completed" }];

  const quick = walk([...begun, { event: "wave completed" }]);
  const ended = walk([...begun, { event: "completed", state: "completed" }]);
  const slow = walk([...begun, ...wave, ...wave, ...wave, ...wave, ...wave]);
  expect([quick, ended, slow].map(({ held }) => held.length)).toEqual([4, 0, 0]);
});

it("a pause by an operator is no error", () => {
  const paused: Step = { event: "paused", state: "paused", cause: "operator" };

  expect(walk([...begun, paused]).spans.map(({ error }) => error)).toEqual([undefined, undefined]);
});
