/** The spans of a rollout: one for each run, with its waves below, and a message for each transition. Pure. */
import { defaultFleet } from "#fleet/contract.ts";
import { childOf, type Span, type Trace, toMessageSpan, traceFields } from "#kernel/tracing.ts";
import type { OpenSpan, RolloutHead, RolloutTrace } from "#rollout/state.ts";
import type { RolloutEvent } from "./messages.ts";

/** Names the span of a run by the event that starts it. */
const runs: Partial<Record<RolloutEvent, string>> = {
  "rollout started": "rollout",
  resumed: "resume rollout",
  "resumed to retry": "resume rollout",
  "rollback started": "roll back rollout",
};

const ends: readonly RolloutEvent[] = ["paused", "completed", "cancelled", "rollback completed"];

type TracedHead = RolloutHead & { trace: RolloutTrace };
type Transition = { event: RolloutEvent; nowMs: number };

/** A message costs as much as some deploys: the spans of a run that has just started share one. */
const holdMs = 10_000;
const mostHeld = 20;

/** Returns what is open after a transition, the ended spans that are to be sent now, and that of its message. */
export function traceTransition(
  head: TracedHead,
  transition: Transition,
): { trace: RolloutTrace; spans: Span[]; message: Trace } {
  const { run, wave, held = [], ...root } = head.trace;
  const { event } = transition;
  const isEnd = ends.includes(event);
  const isEndOfWave = isEnd || event === "wave completed";
  const opened = openSpan(head, transition);
  const message = toMessage(head, transition, parentOf({ ...head.trace, ...opened }));
  const spans = [...held, message];
  if (wave !== undefined && isEndOfWave) {
    const of = { parent: run?.trace ?? root.trace, attributes: describeWave(head) };
    spans.push(toEnded(wave, of, { head, transition }));
  }
  if (run !== undefined && isEnd) {
    const parent = run.trace === root.trace ? root.parent : root.trace;
    const of = { parent, attributes: { "deployment.status": statusOf(head) } };
    spans.push(toEnded(run, of, { head, transition }));
  }
  const open = { ...(run && !isEnd && { run }), ...(wave && !isEndOfWave && { wave }), ...opened };
  const next = { trace: { ...root, ...open }, spans, message: message.trace };
  if (!mayWait(spans, open.run, transition)) return next;
  return { ...next, trace: { ...next.trace, held: spans }, spans: [] };
}

function mayWait(spans: readonly Span[], run: OpenSpan | undefined, { nowMs }: Transition) {
  return run !== undefined && nowMs - run.startMs < holdMs && spans.length < mostHeld;
}

/** The span below which something of a rollout happens now: the wave, else the run, else the first run. */
export function parentOf({ trace, run, wave }: RolloutTrace): Trace {
  return wave?.trace ?? run?.trace ?? trace;
}

/** The ids of that span, for a line of the log. */
export function logFields({ trace }: Pick<RolloutHead, "trace">) {
  return traceFields(trace && parentOf(trace));
}

function openSpan(
  { trace: { trace, run }, sequence, currentWave }: TracedHead,
  { event, nowMs: startMs }: Transition,
): Pick<RolloutTrace, "run" | "wave"> {
  const name = runs[event];
  if (event === "wave started") {
    const wave = childOf(run?.trace ?? trace, "wave", currentWave);
    return { wave: { trace: wave, name: "wave", startMs } };
  }
  if (name === undefined) return {};
  const isFirst = event === "rollout started";
  return { run: { trace: isFirst ? trace : childOf(trace, "run", sequence), name, startMs } };
}

function toEnded(
  { trace, name, startMs }: OpenSpan,
  { parent, attributes }: Pick<Span, "parent" | "attributes">,
  { head, transition }: { head: RolloutHead; transition: Transition },
): Span {
  const { state, cause } = head;
  const error = state === "paused" && cause !== "operator" ? (cause ?? "_OTHER") : undefined;
  const all = { ...describe(head), ...attributes };
  const endMs = transition.nowMs;
  return { trace, parent, name, kind: "internal", startMs, endMs, attributes: all, error };
}

function statusOf({ state, failed }: RolloutHead): string {
  if (state === "completed") return failed === 0 ? "succeeded" : "failed";
  return state === "paused" ? "failed" : state;
}

function describe({ rolloutId, fleet = defaultFleet, image }: RolloutHead): Span["attributes"] {
  return { "deployment.id": rolloutId, "deployment.name": fleet, "vedette.image": image };
}

function describeWave({ waves, currentWave }: RolloutHead): Span["attributes"] {
  const { size, succeeded, failed } = waves[currentWave - 1] ?? {};
  return {
    "vedette.wave.number": currentWave,
    "vedette.wave.size": size,
    "vedette.wave.succeeded": succeeded,
    "vedette.wave.failed": failed,
  };
}

function toMessage(head: RolloutHead, { event, nowMs }: Transition, parent: Trace): Span {
  return toMessageSpan({
    trace: childOf(parent, "message", head.sequence),
    parent,
    destination: "sentinel_rollout",
    id: `${head.rolloutId}#${head.sequence}`,
    atMs: nowMs,
    attributes: { "vedette.rollout.event": event },
  });
}
