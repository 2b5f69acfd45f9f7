/** How results and ended waves move the rollout on. Pure: the handlers read, ask here, and write. */
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
 * The head after a batch's outcome has become another. Lists are brought to what the batch's members
 * are now, as the counts are: of a step that was killed between two writes nothing is missing.
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

/** The list with those of the members that have the mark, and without the others of them. */
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

/** The id lists that stand in the head of a small fleet; none for a large one. */
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

/** What follows once the wave `finished` has been run, or at the start when it is undefined. */
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

/** A fleet that cannot be asked is told apart from an image that does not work. */
function pauseForFailures(wave: WaveProgress): Step {
  const { failed, passedOver, fleetFailed = 0, fleetPassedOver = 0 } = wave;
  const fresh = failed - passedOver;
  if (fleetFailed - fleetPassedOver < fresh) return { action: "pause", cause: "sentinels" };
  const reason = `the fleet's API is ill: every failure of the wave, ${fresh} in all, is that it could not be asked`;
  return { action: "pause", cause: "fleet", reason };
}

/** Members of a wave that have no result yet. */
function unresolved(wave: WaveProgress): number {
  return wave.size - wave.succeeded - wave.failed;
}

/** The waves as a Resume takes them up: what has failed so far is passed over, not retried. */
export function passOverFailures(waves: readonly WaveProgress[]): WaveProgress[] {
  return waves.map((wave) => ({
    ...wave,
    passedOver: wave.failed,
    fleetPassedOver: wave.fleetFailed ?? 0,
  }));
}
