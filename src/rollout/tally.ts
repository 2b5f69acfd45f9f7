/** How many of a batch have which outcome. Counts of a rollout are sums of these, never counted up. */
import type { Change } from "./outcome.ts";
import type { Outcome, RolloutHead, Tally } from "./state.ts";

const nothing: Tally = { s: 0, f: 0, r: 0, n: 0 };

function tallyOf({ marks }: Pick<Outcome, "marks">): Tally {
  const count = (mark: string) => marks.split(mark).length - 1;
  return { s: count("s"), f: count("f"), r: count("r"), n: count("n") };
}

/** A batch whose outcome has become another. */
export type BatchStep = {
  batch: number;
  wave: number;
  before: Pick<Outcome, "marks">;
  after: Pick<Outcome, "marks">;
};

type Counts = Pick<
  RolloutHead,
  "succeeded" | "failed" | "reverted" | "revertedByLastRollback" | "waves"
> &
  Pick<RolloutHead, "tallies">;

/**
 * The head's counts once this batch stands as it does after the step. What the batch has counted for
 * so far is taken off first: a step that comes twice, or of which half was written, counts once.
 */
export function recount(head: RolloutHead, { batch, wave, before, after }: BatchStep): Counts {
  // A rollout that an earlier version began has no tallies: it is counted from the batch's marks.
  const was = head.tallies === undefined ? tallyOf(before) : (head.tallies[batch] ?? nothing);
  const is = tallyOf(after);
  const more = { s: is.s - was.s, f: is.f - was.f, r: is.r - was.r, n: is.n - was.n };
  const reverted = head.reverted + more.r;
  return {
    // Who did not go back has the new image, or may have it.
    succeeded: head.succeeded + more.s + more.n,
    failed: head.failed + more.f,
    reverted,
    revertedByLastRollback:
      head.revertedBefore === undefined
        ? head.revertedByLastRollback + more.r
        : reverted - head.revertedBefore,
    waves: head.waves.map((one, i) =>
      i === wave
        ? {
            ...one,
            succeeded: one.succeeded + more.s + more.n + more.r,
            failed: one.failed + more.f,
          }
        : one,
    ),
    ...(head.tallies !== undefined && { tallies: { ...head.tallies, [batch]: is } }),
  };
}

/** The last change of each sentinel. */
export function lastChanges(changes: readonly Change[]): Change[] {
  return [...new Map(changes.map((change) => [change.id, change])).values()];
}
