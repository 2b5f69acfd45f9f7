/** Freezes a fleet into waves and batches. */
import type { FleetMember } from "#fleet/contract.ts";
import { type Batch, batchSize, type SizedBatch, type WaveProgress } from "#rollout/state.ts";
import { spreadOverWaves } from "./spread.ts";
import { planWaves } from "./waves.ts";

/** The sentinels of one wave in the order in which they are deployed. */
export type WaveMembers = { percentage: number; covered: number; members: FleetMember[] };

/**
 * The waves of a rollout of `image` (docs/architecture.md, "Waves"). Sentinels that run it already and
 * are to run it are left out. The image is the salt of the order, so that Plan and Rollout agree.
 */
export function planMembers(
  fleet: readonly FleetMember[],
  request: { image: string; wavePercentages: readonly number[] },
): WaveMembers[] {
  const eligible = fleet.filter((member) => !alreadyRuns(member, request.image));
  const waves = planWaves(eligible.length, request.wavePercentages);
  const members = spreadOverWaves(
    eligible,
    waves.map((wave) => wave.size),
    request.image,
  );
  return waves.map(({ percentage, covered }, i) => ({
    percentage,
    covered,
    members: members[i] ?? [],
  }));
}

function alreadyRuns(member: FleetMember, image: string): boolean {
  return member.image === image && member.running_image === image;
}

/** The waves as the head stores them. */
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

/** The batches of one wave, by number. */
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

/** The previous image, which a rollback restores, is the one that runs and not the one ordered. */
function toBatch(wave: number, members: readonly FleetMember[]): Batch {
  const previous = members.map((member) => member.running_image || member.image);
  const images = [...new Set(previous)];
  return {
    wave,
    ids: members.map((member) => member.id),
    images,
    imageOf: previous.map((image) => images.indexOf(image)),
  };
}
