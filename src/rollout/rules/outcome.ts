/** Finds the members of a batch that are still to be deployed, and applies results to its outcome. Pure. */
import type { Serving } from "#fleet/deploys/contract.ts";
import type { Batch, Outcome } from "#rollout/state.ts";

/** A rollout deploys the new image, a rollback each sentinel's previous one. */
export type RunKind = "rollout" | "rollback";

/** `index`: the sentinel's in its batch; `ofFleet`: it failed because the fleet's API failed. */
export type DeployOutcome = {
  index: number;
  id: string;
  ok: boolean;
  reason?: string;
  ofFleet?: true;
  /** The image that a failed one serves; absent: not known. */
  serving?: Serving;
  /** A pin has held it back: it was not ordered. */
  leftOut?: true;
};

/** `isDown`: it is unavailable already, so that its deploy costs nothing. `tries`: its deploys that have failed; absent: none. */
export type Target = { index: number; id: string; image: string; isDown?: true; tries?: number };

/** One mark that a result has changed; `ofFleet`: it failed because the fleet's API failed. */
export type OutcomeChange = {
  id: string;
  from: string;
  to: string;
  reason?: string;
  ofFleet?: true;
};

export function emptyOutcome(batch: Batch): Outcome {
  return { marks: ".".repeat(batch.ids.length), reasons: {}, ofFleet: [], open: false };
}

export function previousImageOf(batch: Batch, index: number): string {
  return batch.images[batch.imageOf[index] ?? -1] ?? "";
}

/**
 * The members that a run has to deploy. A rollback takes those with the new image, and those without a
 * result in a batch that is open or was killed: they may have it, and reverting one that does not have
 * it changes nothing.
 */
export function targetsOf(
  batch: Batch,
  outcome: Outcome,
  run: { kind: RunKind; image: string; includeFailed?: boolean | undefined },
): Target[] {
  const isTarget = run.kind === "rollout" ? isUnresolved : revertible(outcome, run);
  const { marks, tries = {} } = outcome;
  return batch.ids
    .map((id, index) => ({ index, id, image: imageFor(batch, index, run) }))
    .filter((target) => isTarget(marks[target.index] ?? "", target))
    .map((target) => ({ ...target, ...(tries[target.index] && { tries: tries[target.index] }) }));
}

const isUnresolved = (mark: string) => mark === ".";

/** Counts one more failed deploy of each of these members: their next one is another. */
export function countTries(
  { ids }: Pick<Batch, "ids">,
  { tries = {} }: Outcome,
  failed: readonly { id: string }[],
): Pick<Outcome, "tries"> {
  const indexes = failed.map(({ id }) => ids.indexOf(id));
  const counted = indexes.map((index) => [index, (tries[index] ?? 0) + 1]);
  return counted.length === 0 ? {} : { tries: { ...tries, ...Object.fromEntries(counted) } };
}

/** Returns a function, of mark and member, that is true for the members that a rollback deploys. */
function revertible(
  { open, lost = false, astray = [], tries = {} }: Outcome,
  { includeFailed = false }: { includeFailed?: boolean | undefined },
): (mark: string, member: { index: number; id: string }) => boolean {
  const tookIt = new Set(astray);
  // One that was left out after its batch was killed may have been ordered before.
  const unknown = `${open || lost ? "." : ""}${lost ? "x" : ""}`;
  const always = `sn${includeFailed ? "f" : ""}${unknown}`;
  return (mark, { index, id }) => {
    if (mark === "r" || mark === "") return false;
    const mayHaveIt = tookIt.has(id) || (includeFailed && tries[index] !== undefined);
    return always.includes(mark) || mayHaveIt;
  };
}

function imageFor(batch: Batch, index: number, run: { kind: RunKind; image: string }): string {
  return run.kind === "rollout" ? run.image : previousImageOf(batch, index);
}

/** The mark of each member with a result, and its reason. */
export function marksOf(
  { ids }: Pick<Batch, "ids">,
  { marks, reasons, ofFleet = [] }: Pick<Outcome, "marks" | "reasons"> & Partial<Outcome>,
): OutcomeChange[] {
  return ids.flatMap((id, i): OutcomeChange[] => {
    const to = marks[i] ?? ".";
    if (to === ".") return [];
    // An id may be the name of a property that every object has.
    const reason = Object.hasOwn(reasons, id) ? reasons[id] : undefined;
    const isOfFleet = to === "f" && ofFleet.includes(id) && { ofFleet: true as const };
    return [{ id, from: ".", to, ...(reason !== undefined && { reason }), ...isOfFleet }];
  });
}

/** Marks the results, each member once per run: a repeated record changes nothing. */
export function applyResults(
  batch: Batch,
  outcome: Outcome,
  run: { kind: RunKind; results: readonly DeployOutcome[]; includeFailed?: boolean | undefined },
): { outcome: Outcome; changes: OutcomeChange[] } {
  const marks = [...outcome.marks];
  const reasons = new Map(Object.entries(outcome.reasons));
  const changes: OutcomeChange[] = [];
  const isTarget = revertible({ ...outcome, open: true }, run);
  for (const result of run.results) {
    const from = marks[result.index] ?? "";
    const id = batch.ids[result.index];
    const isExpected =
      id !== undefined && (run.kind === "rollout" ? isUnresolved(from) : isTarget(from, result));
    if (!isExpected) continue;
    const to = markOf(run.kind, result);
    marks[result.index] = to;
    if (result.reason === undefined) reasons.delete(id);
    else reasons.set(id, result.reason);
    const { reason, ofFleet } = result;
    changes.push({ id, from, to, ...(reason && { reason }), ...(ofFleet && { ofFleet }) });
  }
  const notReverted = changes.filter(({ to }) => to === "n");
  const kept = {
    marks: marks.join(""),
    reasons: Object.fromEntries(reasons),
    ofFleet: ofFleetAfter(outcome.ofFleet, changes, run.results),
    ...countTries(batch, outcome, notReverted),
  };
  return { outcome: { ...outcome, ...kept }, changes };
}

function ofFleetAfter(
  before: readonly string[],
  changes: readonly OutcomeChange[],
  results: readonly DeployOutcome[],
): string[] {
  const changed = new Set(changes.map(({ id }) => id));
  const more = results.filter(({ id, ofFleet }) => ofFleet === true && changed.has(id));
  const kept = before.filter((id) => !changed.has(id));
  return [...new Set([...kept, ...more.map(({ id }) => id)])];
}

export function markOf(
  kind: RunKind,
  { ok, leftOut }: Pick<DeployOutcome, "ok" | "leftOut">,
): string {
  if (leftOut === true) return "x";
  if (kind === "rollout") return ok ? "s" : "f";
  return ok ? "r" : "n";
}
