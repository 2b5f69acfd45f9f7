/** Finds the members of a batch that are still to be deployed, and applies results to its outcome, which may change after the deploy. Pure. */
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
  return batch.ids
    .map((id, index) => {
      const tries = outcome.tries?.[index];
      return { index, id, image: imageFor(batch, index, run), ...(tries && { tries }) };
    })
    .filter((target) => isTarget(outcome.marks[target.index] ?? "", target));
}

const isUnresolved = (mark: string) => mark === ".";

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
  const isTarget =
    run.kind === "rollout" ? isUnresolved : revertible({ ...outcome, open: true }, run);
  const changes = run.results.flatMap((result): OutcomeChange[] => {
    const { index, reason, ofFleet } = result;
    const from = outcome.marks[index] ?? "";
    const id = batch.ids[index];
    if (id === undefined || !isTarget(from, result)) return [];
    const to = markOf(run.kind, result);
    return [{ id, from, to, ...(reason && { reason }), ...(ofFleet && { ofFleet }) }];
  });
  return { outcome: applyChanges(batch, outcome, changes), changes };
}

/** Returns the outcome after them. A member that was not reverted, or whose failure is taken back, has another deploy next. */
function applyChanges(
  { ids }: Pick<Batch, "ids">,
  outcome: Outcome,
  changes: readonly OutcomeChange[],
): Outcome {
  const marks = [...outcome.marks];
  const reasons = new Map(Object.entries(outcome.reasons));
  const ofFleet = new Set(outcome.ofFleet);
  const tries = { ...outcome.tries };
  for (const { id, to, reason, ofFleet: isOfFleet } of changes) {
    const index = ids.indexOf(id);
    marks[index] = to;
    if (reason === undefined) reasons.delete(id);
    else reasons.set(id, reason);
    ofFleet.delete(id);
    if (isOfFleet === true) ofFleet.add(id);
    if (to === "n" || to === ".") tries[index] = (tries[index] ?? 0) + 1;
  }
  return {
    ...outcome,
    marks: marks.join(""),
    reasons: Object.fromEntries(reasons),
    ofFleet: [...ofFleet],
    ...(Object.keys(tries).length > 0 && { tries }),
  };
}

export function markOf(
  kind: RunKind,
  { ok, leftOut }: Pick<DeployOutcome, "ok" | "leftOut">,
): string {
  if (leftOut === true) return "x";
  if (kind === "rollout") return ok ? "s" : "f";
  return ok ? "r" : "n";
}

// Results that change after the deploy: a failure that is tried again, a success that fails in its soak.

/** It no longer runs the image well; `ofFleet`: not by the image. `serves`: its image, "" none; absent: not known. */
export type Stray = { id: string; reason: string; ofFleet?: true; serves?: string };

/** The outcome without its failures, so that those members are deployed again; and what that changes. */
export function withoutFailures(
  batch: Pick<Batch, "ids">,
  outcome: Outcome,
): { outcome: Outcome; changes: OutcomeChange[] } {
  const ids = batch.ids.filter((_, i) => outcome.marks[i] === "f");
  const changes = ids.map((id) => ({ id, from: "f", to: "." }));
  return { outcome: applyChanges(batch, outcome, changes), changes };
}

/** The outcome in which members that succeeded have failed after all, and what that changes. */
export function withFailures(
  batch: Pick<Batch, "ids">,
  outcome: Outcome,
  strays: readonly Stray[],
): { outcome: Outcome; changes: OutcomeChange[] } {
  const { astray = [] } = outcome;
  const found = new Map(strays.map((stray) => [stray.id, stray]));
  const changes = batch.ids.flatMap((id, i): OutcomeChange[] => {
    const { reason, ofFleet } = found.get(id) ?? {};
    const from = outcome.marks[i] ?? "";
    // A failure of this kind is reported again: the earlier call may have been killed before its end.
    const isStray = from === "s" || (from === "f" && astray.includes(id));
    if (reason === undefined || !isStray) return [];
    return [{ id, from, to: "f", reason, ...(ofFleet && { ofFleet }) }];
  });
  const all = new Set([...astray, ...changes.map(({ id }) => id)]);
  return { outcome: { ...applyChanges(batch, outcome, changes), astray: [...all] }, changes };
}
