/** How results and ended waves move the rollout on. Pure: the handlers read, ask here, and write. */
import type { SentinelReason } from "./contract.ts";
import type { Change } from "./outcome.ts";
import {
  type Batch,
  inlineListLimit,
  type RolloutHead,
  reasonSampleLimit,
  type WaveProgress,
} from "./state.ts";
import { type BatchStep, lastChanges, recount } from "./tally.ts";

/** The head after a batch's outcome has become another, by these changes. */
export function applyChanges(
  head: RolloutHead,
  step: BatchStep,
  changes: readonly Change[],
): RolloutHead {
  const last = lastChanges(changes);
  const counts = recount(head, step);
  const ofFleet = last.filter(isOfFleet).length;
  return {
    ...head,
    ...applyToLists(head, last),
    ...counts,
    waves: counts.waves.map((wave, i) =>
      i === step.wave ? { ...wave, fleetFailed: (wave.fleetFailed ?? 0) + ofFleet } : wave,
    ),
    failedSample: sample(head.failedSample, last, "f", reasonSampleLimit),
    notReverted: sample(head.notReverted, last, "n", inlineListLimit),
  };
}

/** Whether a deploy failed because the fleet could not be asked: nothing is said of the image then. */
function isOfFleet({ to, reason = "" }: Change): boolean {
  return to === "f" && /^(?:timeout_unknown: )?(?:unreachable|unauthorized)\b/.test(reason);
}

/** The list with those that now have the mark, and without those that have another one. */
function sample(
  list: SentinelReason[],
  changes: readonly Change[],
  mark: string,
  limit: number,
): SentinelReason[] {
  if (changes.length === 0) return list;
  const changed = new Set(changes.map(({ id }) => id));
  const fresh = changes
    .filter(({ to }) => to === mark)
    .map(({ id, reason }) => ({ id, reason: reason ?? "unknown" }));
  return [...list.filter(({ id }) => !changed.has(id)), ...fresh].slice(0, limit);
}

function applyToLists(head: RolloutHead, changes: readonly Change[]): Partial<RolloutHead> {
  if (head.succeededIds === undefined || head.failedIds === undefined) return {};
  const withMarks = (list: string[], marks: string) => {
    const ids = changes.filter(({ to }) => marks.includes(to)).map(({ id }) => id);
    const gone = new Set(changes.filter(({ to }) => !marks.includes(to)).map(({ id }) => id));
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
function pauseForFailures({ failed, passedOver, fleetFailed = 0 }: WaveProgress): Step {
  const fresh = failed - passedOver;
  if (fleetFailed < fresh) return { action: "pause", cause: "sentinels" };
  const reason = `the fleet's API is ill: every failure of the wave, ${fresh} in all, is that it could not be asked`;
  return { action: "pause", cause: "fleet", reason };
}

/** Members of a wave that have no result yet. */
function unresolved(wave: WaveProgress): number {
  return wave.size - wave.succeeded - wave.failed;
}

/** The waves as a Resume takes them up: what has failed so far is passed over, not retried. */
export function passOverFailures(waves: readonly WaveProgress[]): WaveProgress[] {
  return waves.map((wave) => ({ ...wave, passedOver: wave.failed, fleetFailed: 0 }));
}
