/** Heads and batches for tests: whole, with what a test cares about put over them. */
import type { FleetMember } from "#fleet/contract.ts";
import type { Batch, RolloutHead, WaveProgress } from "#rollout/state.ts";

export const imageV1 = "registry.example.com/vedette/sentinel:v1";
export const imageV2 = "registry.example.com/vedette/sentinel:v2";

export function buildHead(over: Partial<RolloutHead> = {}): RolloutHead {
  return {
    state: "in_progress",
    rolloutId: "r-1",
    image: imageV2,
    requestedImage: imageV2,
    wavePercentages: [50, 100],
    startedBy: "tester",
    startedAt: "2026-01-01T00:00:00.000Z",
    updatedAt: "2026-01-01T00:00:00.000Z",
    sequence: 1,
    runner: "inv_1",
    captured: true,
    currentWave: 1,
    totalWaves: 2,
    total: 4,
    waves: [buildWave(), buildWave({ percentage: 100, firstBatch: 1 })],
    succeeded: 0,
    failed: 0,
    reverted: 0,
    revertedByLastRollback: 0,
    policy: {},
    endedWaves: 0,
    tallies: {},
    failedSample: [],
    notReverted: [],
    openBatches: {},
    succeededIds: [],
    failedIds: [],
    previousImages: {},
    ...over,
  };
}

export function buildWave(over: Partial<WaveProgress> = {}): WaveProgress {
  return {
    percentage: 50,
    size: 2,
    firstBatch: 0,
    batches: 1,
    succeeded: 0,
    failed: 0,
    passedOver: 0,
    ...over,
  };
}

export function buildBatch(ids: string[], previous = imageV1): Batch {
  return { wave: 0, ids, images: [previous], imageOf: ids.map(() => 0) };
}

export function buildFleet(sizes: Record<string, number>, image = imageV1): FleetMember[] {
  return Object.entries(sizes).flatMap(([region, size]) =>
    Array.from({ length: size }, (_, i) => ({
      id: `${region}-${i + 1}`,
      region,
      image,
      running_image: image,
      health: "healthy" as const,
    })),
  );
}

/** Of a rollout that history shows, the fields that its head does not have. */
export const nothingShown = {
  outcome: null,
  waitingFor: null,
  policy: {},
  waves: [],
  leftOut: 0,
};
