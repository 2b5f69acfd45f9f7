/** How results and ended waves change the rollout. Pure: handlers read state, decide here, and write. */
import type { SentinelReason } from "#rollout/contract.ts";
import {
  type Batch,
  inlineListLimit,
  type RolloutHead,
  reasonSampleLimit,
  type WaveProgress,
} from "#rollout/state.ts";
import { marksOf, type OutcomeChange } from "./outcome.ts";
import { type BatchStep, recount } from "./tally.ts";

/**
 * The head after a batch's outcome has changed. Lists and counts are derived from all members of the
 * batch, so that a step that was killed between two writes loses nothing.
 */
export function applyStep(head: RolloutHead, step: BatchStep): RolloutHead {
  const members = marksOf(step.batch, step.after);
  return {
    ...head,
    ...applyToLists(head, members),
    ...recount(head, step),
    failedSample: sample(head.failedSample, members, { mark: "f", limit: reasonSampleLimit }),
    notReverted: sample(head.notReverted, members, { mark: "n", limit: inlineListLimit }),
  };
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

/** The lists of ids in the head of a small fleet; none for a large one. */
export function inlineLists(total: number, batches: readonly Batch[]): Partial<RolloutHead> {
  if (total > inlineListLimit) return {};
  const pairs = batches.flatMap((batch) =>
    batch.ids.map((id, i): [string, string] => [id, batch.images[batch.imageOf[i] ?? -1] ?? ""]),
  );
  return { succeededIds: [], failedIds: [], previousImages: Object.fromEntries(pairs) };
}

export type Step =
  | { action: "run"; waveIndex: number }
  | { action: "pause"; cause: "sentinels" | "fleet" | "run"; reason?: string }
  | { action: "complete" };

/** The next step after the wave `finished`; undefined: at the start. */
export function nextStep(waves: readonly WaveProgress[], finished: number | undefined): Step {
  const ended = finished === undefined ? undefined : waves[finished];
  if (ended !== undefined && ended.failed > ended.passedOver) return pauseForFailures(ended);
  if (ended !== undefined && unresolved(ended) > 0) {
    const reason = `${unresolved(ended)} deploys of the wave ended without a result; Resume tries them again`;
    return { action: "pause", cause: "run", reason };
  }
  const next = waves.findIndex((wave) => unresolved(wave) > 0);
  return next === -1 ? { action: "complete" } : { action: "run", waveIndex: next };
}

/** Distinguishes failures of the fleet's API from those of the image. */
function pauseForFailures(wave: WaveProgress): Step {
  const { failed, passedOver, fleetFailed = 0, fleetPassedOver = 0 } = wave;
  const fresh = failed - passedOver;
  if (fleetFailed - fleetPassedOver < fresh) return { action: "pause", cause: "sentinels" };
  const reason = `the fleet's API is failing: it caused every failed deploy of the wave, ${fresh} in all`;
  return { action: "pause", cause: "fleet", reason };
}

/** Members of a wave that have no result yet. */
function unresolved(wave: WaveProgress): number {
  return wave.size - wave.succeeded - wave.failed;
}

/** The waves for a Resume: failures so far are marked as passed over, and not retried. */
export function passOverFailures(waves: readonly WaveProgress[]): WaveProgress[] {
  return waves.map((wave) => ({
    ...wave,
    passedOver: wave.failed,
    fleetPassedOver: wave.fleetFailed ?? 0,
  }));
}
