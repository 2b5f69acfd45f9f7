/** Which alerts a heartbeat of one second's period and one second's grace has to open, by the calls of its job. */
import type { AlertTransition } from "#alerts/contract.ts";

export type Kind = "success" | "fail" | "start";

/** The job called within this span. `isTaken`: it was answered 200. */
export type Call = { kind: Kind; fromMs: number; toMs: number; isTaken: boolean };

type Span = { fromMs: number; toMs: number };
type Transition = Pick<AlertTransition, "kind" | "atMs">;

const graceMs = 1_000;
const allowanceMs = 2_000;
/** So late an alert may be where two processors carry everything. */
const latenessMs = 1_200;

export function isInTurn(id: string, eventIds: readonly string[]): boolean {
  return eventIds.every(
    (eventId, n) =>
      eventId === `${id}:${Math.floor(n / 2) + 1}:${n % 2 === 0 ? "opened" : "resolved"}`,
  );
}

/** Silences and failures without an alert, while everything was up. */
export function findMissing(
  calls: readonly Call[],
  {
    transitions,
    disturbances,
  }: { transitions: readonly Transition[]; disturbances: readonly Span[] },
): Span[] {
  const successes = calls.filter(({ kind }) => kind === "success");
  const isUp = ({ fromMs, toMs }: Span) =>
    disturbances.every((span) => span.toMs < fromMs || span.fromMs > toMs);
  const hasFailed = ({ fromMs, toMs }: Span) =>
    calls.some((call) => call.kind === "fail" && call.fromMs > fromMs && call.toMs < toMs);
  return successes
    .slice(1)
    .map((next, n) => ({ fromMs: successes[n]?.fromMs ?? 0, toMs: next.toMs, next }))
    .filter(({ fromMs, toMs, next }) => {
      const isLong = next.fromMs - fromMs > allowanceMs + latenessMs;
      return isUp({ fromMs, toMs }) && (isLong || hasFailed({ fromMs, toMs }));
    })
    .map(({ fromMs, toMs }) => ({ fromMs, toMs }))
    .filter(
      (span) =>
        !transitions.some(
          (transition) => transition.kind === "opened" && isWithin(transition, span),
        ),
    );
}

/** Transitions without a reason. */
export function findUnfounded(
  calls: readonly Call[],
  transitions: readonly Transition[],
): Transition[] {
  const taken = calls.filter(({ isTaken }) => isTaken);
  const during = ({ atMs }: Transition, kind: Kind) =>
    calls.some((call) => call.kind === kind && isWithin({ atMs }, call));
  const isSilent = ({ atMs }: Transition) =>
    !taken.some(
      ({ kind, fromMs, toMs }) => kind === "success" && fromMs > atMs - allowanceMs && toMs < atMs,
    );
  const isHanging = ({ atMs }: Transition) =>
    calls.some(
      (start) =>
        start.kind === "start" &&
        start.fromMs <= atMs - graceMs &&
        !taken.some(
          ({ kind, fromMs, toMs }) => kind !== "start" && fromMs > start.toMs && toMs < atMs,
        ),
    );
  return transitions.filter((transition) =>
    transition.kind === "resolved"
      ? !during(transition, "success")
      : !(during(transition, "fail") || isSilent(transition) || isHanging(transition)),
  );
}

function isWithin({ atMs }: { atMs: number }, { fromMs, toMs }: Span): boolean {
  return atMs >= fromMs && atMs <= toMs;
}
