/** What a heartbeat of one second's period and one second's grace has to tell, by the calls of its job. */
import type { AlertTransition } from "#alerts/contract.ts";

export type Kind = "success" | "fail" | "start";

/** The job called within this span. `isTaken`: it was answered 200. */
export type Call = { kind: Kind; fromMs: number; toMs: number; isTaken: boolean };

type Span = { fromMs: number; toMs: number };
type Told = Pick<AlertTransition, "kind" | "atMs">;

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

/** Silences and failures, all being up, that were not told. */
export function findUntold(
  calls: readonly Call[],
  { transitions, disturbances }: { transitions: readonly Told[]; disturbances: readonly Span[] },
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
    .filter((span) => !transitions.some((told) => told.kind === "opened" && isWithin(told, span)));
}

/** What was told without a reason. */
export function findUnfounded(calls: readonly Call[], transitions: readonly Told[]): Told[] {
  const taken = calls.filter(({ isTaken }) => isTaken);
  const during = ({ atMs }: Told, kind: Kind) =>
    calls.some((call) => call.kind === kind && isWithin({ atMs }, call));
  const isSilent = ({ atMs }: Told) =>
    !taken.some(
      ({ kind, fromMs, toMs }) => kind === "success" && fromMs > atMs - allowanceMs && toMs < atMs,
    );
  const isHanging = ({ atMs }: Told) =>
    calls.some(
      (start) =>
        start.kind === "start" &&
        start.fromMs <= atMs - graceMs &&
        !taken.some(
          ({ kind, fromMs, toMs }) => kind !== "start" && fromMs > start.toMs && toMs < atMs,
        ),
    );
  return transitions.filter((told) =>
    told.kind === "resolved"
      ? !during(told, "success")
      : !(during(told, "fail") || isSilent(told) || isHanging(told)),
  );
}

function isWithin({ atMs }: { atMs: number }, { fromMs, toMs }: Span): boolean {
  return atMs >= fromMs && atMs <= toMs;
}
