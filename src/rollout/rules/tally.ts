/** Counts the members of a batch by outcome. A rollout's counts are sums of these tallies. */
import type { Batch, Outcome, RolloutHead, Tally } from "#rollout/state.ts";
import { marksOf, type OutcomeChange } from "./outcome.ts";

type Results = Pick<Outcome, "marks" | "reasons" | "ofFleet">;

const nothing: Tally = { s: 0, f: 0, r: 0, n: 0, x: 0, ofFleet: 0 };

/** A change of the outcome of batch `n`. */
export type BatchStep = {
  n: number;
  batch: Pick<Batch, "wave" | "ids">;
  after: Results;
};

function tallyOf(batch: Pick<Batch, "ids">, outcome: Results): Tally {
  const marks = marksOf(batch, outcome);
  const count = (mark: string) => marks.filter(({ to }) => to === mark).length;
  const ofFleet = marks.filter((mark) => isOfFleet(mark, outcome)).length;
  return { s: count("s"), f: count("f"), r: count("r"), n: count("n"), x: count("x"), ofFleet };
}

/** True if a deploy failed because of the fleet's API, which says nothing about the image. */
function isOfFleet({ id, to }: OutcomeChange, { ofFleet }: Results): boolean {
  return to === "f" && ofFleet.includes(id);
}

type Counts = Pick<
  RolloutHead,
  "succeeded" | "failed" | "leftOut" | "reverted" | "revertedByLastRollback" | "waves" | "tallies"
>;

/**
 * The head's counts after the step. The batch's previous contribution is subtracted first, so that a
 * step that is repeated, or was half written, counts once.
 */
export function recount(head: RolloutHead, { n, batch, after }: BatchStep): Counts {
  const was = head.tallies[n] ?? nothing;
  const is = tallyOf(batch, after);
  const more = { s: is.s - was.s, f: is.f - was.f, r: is.r - was.r, n: is.n - was.n };
  const moreLeftOut = is.x - was.x;
  const moreOfFleet = is.ofFleet - was.ofFleet;
  const reverted = head.reverted + more.r;
  return {
    // A sentinel that was not reverted has the new image, or may have it.
    succeeded: head.succeeded + more.s + more.n,
    failed: head.failed + more.f,
    leftOut: (head.leftOut ?? 0) + moreLeftOut,
    reverted,
    revertedByLastRollback: reverted - (head.revertedBefore ?? 0),
    waves: head.waves.map((one, i) =>
      i === batch.wave
        ? {
            ...one,
            succeeded: one.succeeded + more.s + more.n + more.r,
            failed: one.failed + more.f,
            leftOut: (one.leftOut ?? 0) + moreLeftOut,
            fleetFailed: (one.fleetFailed ?? 0) + moreOfFleet,
          }
        : one,
    ),
    tallies: { ...head.tallies, [n]: is },
  };
}
