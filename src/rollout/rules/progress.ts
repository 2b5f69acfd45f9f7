/** Applies results and ended waves to the rollout. Pure: handlers read state, decide here, and write. */
import type { SentinelReason } from "#rollout/contract.ts";
import {
  type Batch,
  inlineListLimit,
  type Outcome,
  type RolloutHead,
  reasonSampleLimit,
  type Tally,
  type WaveProgress,
} from "#rollout/state.ts";
import { type DeployOutcome, marksOf, type OutcomeChange, previousImageOf } from "./outcome.ts";

// Counts the members of a batch by outcome. A rollout's counts are sums of these tallies.

type Results = Pick<Outcome, "marks" | "reasons" | "ofFleet">;

const nothing: Tally = { s: 0, f: 0, r: 0, n: 0, x: 0, ofFleet: 0 };

/** A change of the outcome of batch `n`. */
export type BatchStep = { n: number; batch: Pick<Batch, "wave" | "ids">; after: Results };

function tallyOf(batch: Pick<Batch, "ids">, outcome: Results): Tally {
  const marks = marksOf(batch, outcome);
  const count = (mark: string) => marks.filter(({ to }) => to === mark).length;
  // It says nothing about the image.
  const ofFleet = marks.filter((mark) => mark.ofFleet === true).length;
  return { s: count("s"), f: count("f"), r: count("r"), n: count("n"), x: count("x"), ofFleet };
}

type Counts = Pick<
  RolloutHead,
  "succeeded" | "failed" | "leftOut" | "reverted" | "revertedByLastRollback" | "waves" | "tallies"
>;

/** The batch's previous contribution is subtracted first: a step that is repeated, or half written, counts once. */
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

/** Derived from all members of the batch, so that a step that was killed between two writes loses nothing. */
export function applyStep(head: RolloutHead, step: BatchStep): RolloutHead {
  const members = marksOf(step.batch, step.after);
  const others = members.filter(({ to }) => to !== "f").map(({ id }) => id);
  return {
    ...head,
    ...servingWithout(head, new Set(others)),
    ...applyToLists(head, members),
    ...recount(head, step),
    failedSample: sample(head.failedSample, members, { mark: "f", limit: reasonSampleLimit }),
    notReverted: sample(head.notReverted, members, { mark: "n", limit: inlineListLimit }),
  };
}

/** The head with what failed sentinels serve, by the fleet's word. */
export function withServing(head: RolloutHead, found: readonly [string, string][]): RolloutHead {
  if (found.length === 0) return head;
  const all = Object.entries({ ...head.serving, ...Object.fromEntries(found) });
  return { ...head, serving: Object.fromEntries(all.slice(-inlineListLimit)) };
}

/** The images that failed members serve by the results of their deploys: with an image that is not named, what they ran before. */
export function servedBy(batch: Batch, results: readonly DeployOutcome[]): [string, string][] {
  return results.flatMap(({ id, index, serving }): [string, string][] => {
    if (serving === undefined) return [];
    return [[id, serving.healthy ? serving.image || previousImageOf(batch, index) : ""]];
  });
}

function servingWithout(
  { serving }: RolloutHead,
  ids: ReadonlySet<string>,
): Pick<RolloutHead, "serving"> {
  if (serving === undefined) return {};
  return { serving: Object.fromEntries(Object.entries(serving).filter(([id]) => !ids.has(id))) };
}

/** The list with the members that have the mark added, and the other members of the batch removed. */
function sample(
  list: SentinelReason[],
  members: readonly OutcomeChange[],
  { mark, limit }: { mark: string; limit: number },
): SentinelReason[] {
  const unmarked = new Set(members.filter(({ to }) => to !== mark).map(({ id }) => id));
  const marked = members.filter(({ to }) => to === mark);
  if (marked.length === 0 && unmarked.size === 0) return list;
  const reasons = new Map(marked.map(({ id, reason = "unknown" }) => [id, reason]));
  const listed = list
    .filter(({ id }) => !unmarked.has(id))
    .map(({ id, reason }) => ({ id, reason: reasons.get(id) ?? reason }));
  const known = new Set(listed.map(({ id }) => id));
  const fresh = [...reasons]
    .filter(([id]) => !known.has(id))
    .map(([id, reason]) => ({ id, reason }));
  return [...listed, ...fresh].slice(0, limit);
}

function applyToLists(head: RolloutHead, members: readonly OutcomeChange[]): Partial<RolloutHead> {
  if (head.succeededIds === undefined || head.failedIds === undefined) return {};
  const withMarks = (list: string[], marks: string) => {
    const ids = members.filter(({ to }) => marks.includes(to)).map(({ id }) => id);
    const gone = new Set(members.filter(({ to }) => !marks.includes(to)).map(({ id }) => id));
    return [...new Set([...list.filter((id) => !gone.has(id)), ...ids])];
  };
  return {
    succeededIds: withMarks(head.succeededIds, "sn"),
    failedIds: withMarks(head.failedIds, "f"),
  };
}

/** The image that all members had before; nothing if they had several. */
export function soleImage(batches: readonly Batch[]): Pick<RolloutHead, "previousImage"> {
  const [image, ...others] = new Set(batches.flatMap(({ images }) => images));
  return image === undefined || others.length > 0 ? {} : { previousImage: image };
}

/** The lists of ids in the head of a small fleet; none for a large one. */
export function inlineLists(total: number, batches: readonly Batch[]): Partial<RolloutHead> {
  if (total > inlineListLimit) return {};
  const pairs = batches.flatMap((batch) =>
    batch.ids.map((id, i): [string, string] => [id, batch.images[batch.imageOf[i] ?? -1] ?? ""]),
  );
  return { succeededIds: [], failedIds: [], previousImages: Object.fromEntries(pairs) };
}

/** For a Resume: failures for which it stopped are passed over, not retried. After an interruption they count. */
export function passOverFailures(
  waves: readonly WaveProgress[],
  { wasInterrupted }: { wasInterrupted: boolean },
): WaveProgress[] {
  return waves.map((wave) => {
    const { failed, fleetFailed = 0, passedOver, fleetPassedOver = 0 } = wave;
    if (!wasInterrupted) return { ...wave, passedOver: failed, fleetPassedOver: fleetFailed };
    // Fewer have failed once some are to be tried again.
    return {
      ...wave,
      passedOver: Math.min(passedOver, failed),
      fleetPassedOver: Math.min(fleetPassedOver, fleetFailed),
    };
  });
}

/** The head after failures of a batch were taken back: those sentinels are in no list of failed ones. */
export function applyRetry(head: RolloutHead, step: BatchStep): RolloutHead {
  const gone = new Set(step.batch.ids.filter((_, i) => step.after.marks[i] === "."));
  const { failedIds } = head;
  return {
    ...applyStep(head, step),
    failedSample: head.failedSample.filter(({ id }) => !gone.has(id)),
    ...servingWithout(head, gone),
    endedWaves: Math.min(head.endedWaves, step.batch.wave),
    ...(failedIds !== undefined && { failedIds: failedIds.filter((id) => !gone.has(id)) }),
  };
}
