/** Freezes a fleet into waves and batches. */
import type { FleetMember } from "#fleet/contract.ts";
import { alreadyRuns, hasDigest, isSameImage } from "#kernel/image-reference.ts";
import { ProblemError } from "#kernel/problem.ts";
import type { Pin } from "#rollout/choice/contract.ts";
import {
  capsOf,
  inOrder,
  type LeftOut,
  leaveOut,
  mostWaves,
  seatsOf,
  splitByCap,
} from "#rollout/choice/leave-out.ts";
import type { RolloutProblemCode } from "#rollout/contract.ts";
import type { Policy } from "#rollout/policy-contract.ts";
import { type Batch, batchSize, type SizedBatch, type WaveProgress } from "#rollout/state.ts";
import { planWaves, spreadOverWaves } from "./spread.ts";

/** The sentinels of one wave in the order in which they are deployed. */
export type WaveMembers = { percentage: number; covered: number; members: FleetMember[] };

export type PlanRequest = {
  image: string;
  wavePercentages: readonly number[];
  policy?: Policy | undefined;
  pins?: readonly Pin[];
  nowMs?: number;
};

export type PlannedRollout = { waves: WaveMembers[]; leftOut: LeftOut[] };

/**
 * The waves of a rollout of `image` (src/rollout/README.md, "Waves"). Sentinels that run it already and
 * are to run it are left out, and those that a pin or the request leaves out. The image is the salt of the
 * order, so that Plan and Rollout agree.
 */
export function planRollout(
  fleet: readonly FleetMember[],
  { image, wavePercentages, policy = {}, pins = [], nowMs = 0 }: PlanRequest,
): PlannedRollout {
  const outdated = fleet.filter((member) => !alreadyRuns(member, image));
  const { chosen, leftOut } = leaveOut(outdated, { ...policy, pins, nowMs });
  const waves = planWaves(chosen.length, wavePercentages);
  const groups = fillWaves(
    inOrder(chosen, policy),
    waves.map(({ size }) => size),
    image,
  );
  const capOf = capsOf(fleet, policy);
  const split = waves.flatMap(({ percentage }, i) =>
    splitByCap(groups[i] ?? [], capOf).map((members) => ({ percentage, members })),
  );
  if (split.length > mostWaves) throw tooManyWaves(split.length);
  return { waves: withCovered(split), leftOut };
}

function tooManyWaves(count: number): ProblemError {
  const detail = `with this max_per_region there are ${count} waves, ${mostWaves} at most: allow more per region`;
  return new ProblemError<RolloutProblemCode>({ status: 400, code: "too_many_waves", detail });
}

/** Each group takes the seats that the groups before it have left, the first waves first. */
function fillWaves(
  groups: readonly FleetMember[][],
  sizes: readonly number[],
  salt: string,
): FleetMember[][][] {
  const waves: FleetMember[][][] = sizes.map(() => []);
  let left = sizes;
  for (const group of groups) {
    const seats = seatsOf(group.length, left);
    for (const [i, members] of spreadOverWaves(group, seats, salt).entries())
      if (members.length > 0) waves[i]?.push(members);
    left = left.map((free, i) => free - (seats[i] ?? 0));
  }
  return waves;
}

function withCovered(waves: readonly Omit<WaveMembers, "covered">[]): WaveMembers[] {
  let covered = 0;
  return waves.map((wave) => {
    covered += wave.members.length;
    return { ...wave, covered };
  });
}

export function toWaveProgress(waves: readonly WaveMembers[]): WaveProgress[] {
  let firstBatch = 0;
  return waves.map(({ percentage, members }) => {
    const batches = Math.ceil(members.length / batchSize);
    const size = members.length;
    const wave = { percentage, size, firstBatch, batches, succeeded: 0, failed: 0, passedOver: 0 };
    firstBatch += batches;
    return wave;
  });
}

export function batchesOf(wave: WaveProgress): SizedBatch[] {
  return Array.from({ length: wave.batches }, (_, i) => ({
    batch: wave.firstBatch + i,
    size: Math.min(batchSize, wave.size - i * batchSize),
  }));
}

/** The batches of all waves, in order; a batch never spans two waves. */
export function toBatches(waves: readonly WaveMembers[]): Batch[] {
  return waves.flatMap(({ members }, wave) =>
    Array.from({ length: Math.ceil(members.length / batchSize) }, (_, i) =>
      toBatch(wave, members.slice(i * batchSize, (i + 1) * batchSize)),
    ),
  );
}

function toBatch(wave: number, members: readonly FleetMember[]): Batch {
  const previous = members.map(previousOf);
  const images = [...new Set(previous)];
  return {
    wave,
    ids: members.map((member) => member.id),
    images,
    imageOf: previous.map((image) => images.indexOf(image)),
  };
}

/** Returns the image that a rollback restores: the running one, by its ordered name unless only its own has a digest. */
function previousOf({ image, running_image: running }: FleetMember): string {
  const isOrdered = isSameImage(running, image) && (hasDigest(image) || !hasDigest(running));
  return running === "" || isOrdered ? image : running;
}
