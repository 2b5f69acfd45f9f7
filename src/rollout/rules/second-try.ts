/** Results that change after the deploy: a failure that is tried again, a success that fails in its soak. Pure. */
import type { Batch, Outcome } from "#rollout/state.ts";
import type { OutcomeChange } from "./outcome.ts";

/** The outcome without its failures, so that those members are deployed again; and what that changes. */
export function withoutFailures(
  batch: Pick<Batch, "ids">,
  outcome: Outcome,
): { outcome: Outcome; changes: OutcomeChange[] } {
  const ids = batch.ids.filter((_, i) => outcome.marks[i] === "f");
  const gone = new Set(ids);
  const reasons = Object.entries(outcome.reasons).filter(([id]) => !gone.has(id));
  const { ofFleet, retried = [] } = outcome;
  const kept: Outcome = {
    ...outcome,
    marks: outcome.marks.replaceAll("f", "."),
    reasons: Object.fromEntries(reasons),
    retried: [...new Set([...retried, ...ids])],
    ...(ofFleet !== undefined && { ofFleet: ofFleet.filter((id) => !gone.has(id)) }),
  };
  return { outcome: kept, changes: ids.map((id) => ({ id, from: "f", to: "." })) };
}

/** The outcome in which members that succeeded have failed after all, and what that changes. */
export function withFailures(
  batch: Pick<Batch, "ids">,
  outcome: Outcome,
  failures: ReadonlyMap<string, string>,
): { outcome: Outcome; changes: OutcomeChange[] } {
  const { astray = [] } = outcome;
  const changes = batch.ids.flatMap((id, i): OutcomeChange[] => {
    const reason = failures.get(id);
    const from = outcome.marks[i] ?? "";
    // Those that failed so already are told again: whoever noted that may have been killed before its end.
    const isStray = from === "s" || (from === "f" && astray.includes(id));
    return reason !== undefined && isStray ? [{ id, from, to: "f", reason }] : [];
  });
  const failed = new Map(changes.map(({ id, reason = "" }) => [id, reason]));
  const marks = [...outcome.marks].map((mark, i) => (failed.has(batch.ids[i] ?? "") ? "f" : mark));
  const reasons = new Map([...Object.entries(outcome.reasons), ...failed]);
  const changed: Outcome = {
    ...outcome,
    marks: marks.join(""),
    reasons: Object.fromEntries(reasons),
    astray: [...new Set([...astray, ...failed.keys()])],
  };
  return { outcome: changed, changes };
}
