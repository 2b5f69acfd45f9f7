/** Results that change after the deploy: a failure that is tried again, a success that fails in its soak. Pure. */
import type { Batch, Outcome } from "#rollout/state.ts";
import { countTries, type OutcomeChange } from "./outcome.ts";

/** It no longer runs the image well; `ofFleet`: not by the image. `serves`: its image, "" none; absent: not known. */
export type Stray = { id: string; reason: string; ofFleet?: true; serves?: string };

/** The outcome without its failures, so that those members are deployed again; and what that changes. */
export function withoutFailures(
  batch: Pick<Batch, "ids">,
  outcome: Outcome,
): { outcome: Outcome; changes: OutcomeChange[] } {
  const ids = batch.ids.filter((_, i) => outcome.marks[i] === "f");
  const gone = new Set(ids);
  const reasons = Object.entries(outcome.reasons).filter(([id]) => !gone.has(id));
  const changes = ids.map((id) => ({ id, from: "f", to: "." }));
  const kept: Outcome = {
    ...outcome,
    marks: outcome.marks.replaceAll("f", "."),
    reasons: Object.fromEntries(reasons),
    ...countTries(batch, outcome, changes),
    ofFleet: outcome.ofFleet.filter((id) => !gone.has(id)),
  };
  return { outcome: kept, changes };
}

/** The outcome in which members that succeeded have failed after all, and what that changes. */
export function withFailures(
  batch: Pick<Batch, "ids">,
  outcome: Outcome,
  strays: readonly Stray[],
): { outcome: Outcome; changes: OutcomeChange[] } {
  const { astray = [], ofFleet: before } = outcome;
  const found = new Map(strays.map((stray) => [stray.id, stray]));
  const changes = batch.ids.flatMap((id, i): OutcomeChange[] => {
    const { reason, ofFleet } = found.get(id) ?? {};
    const from = outcome.marks[i] ?? "";
    // A failure of this kind is reported again: the earlier call may have been killed before its end.
    const isStray = from === "s" || (from === "f" && astray.includes(id));
    if (reason === undefined || !isStray) return [];
    return [{ id, from, to: "f", reason, ...(ofFleet && { ofFleet }) }];
  });
  const failed = new Map(changes.map(({ id, reason = "" }) => [id, reason]));
  const marks = [...outcome.marks].map((mark, i) => (failed.has(batch.ids[i] ?? "") ? "f" : mark));
  const reasons = new Map([...Object.entries(outcome.reasons), ...failed]);
  const changed: Outcome = {
    ...outcome,
    marks: marks.join(""),
    reasons: Object.fromEntries(reasons),
    astray: [...new Set([...astray, ...failed.keys()])],
    ofFleet: ofFleetAfter(before, failed, found),
  };
  return { outcome: changed, changes };
}

/** The ids that failed because of the fleet, of which those that failed now may be some or no longer. */
function ofFleetAfter(
  before: readonly string[],
  failed: ReadonlyMap<string, string>,
  found: ReadonlyMap<string, Stray>,
): string[] {
  const kept = before.filter((id) => !failed.has(id));
  return [...kept, ...[...failed.keys()].filter((id) => found.get(id)?.ofFleet === true)];
}
