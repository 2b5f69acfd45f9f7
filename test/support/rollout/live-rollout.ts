/** A rollout as the stream of the console tells it, for tests of words and choices. */
import type { LiveRollout } from "#console/contract.ts";
import type { RolloutStatus } from "#rollout/contract.ts";
import type { WaveView } from "#rollout/history/contract.ts";

const paused: RolloutStatus = {
  rollout_id: "inv_1",
  state: "paused",
  image: "registry.example.com/team/app:v2",
  current_wave: 1,
  total_waves: 2,
  total: 40,
  succeeded: 0,
  failed: 0,
  in_flight: 0,
  failed_sentinels: [],
  started_at: "2026-12-20T12:00:00.000Z",
  updated_at: "2026-12-20T12:00:00.000Z",
  outcome: null,
};

type Parts = Partial<Omit<LiveRollout, "status" | "waves">> & { waves?: Partial<WaveView>[] };

/** Paused after the first of two waves, unless `status` says otherwise. */
export function liveRollout(
  status: Partial<RolloutStatus>,
  { waves = [], ...parts }: Parts = {},
): LiveRollout {
  return {
    status: { ...paused, ...status },
    requested_image: null,
    started_by: null,
    ended_at: null,
    wave_percentages: [50, 100],
    reverted: 0,
    waves: waves.map((wave, index) => ({ ...emptyWave, wave: index + 1, ...wave })),
    messages: [],
    previous_images: [],
    failures: [],
    legal: ["Resume", "Cancel", "RollbackAll"],
    per_second: 0,
    ...parts,
  };
}

const emptyWave: WaveView = {
  wave: 1,
  percentage: 50,
  size: 20,
  succeeded: 0,
  failed: 0,
  reverted: 0,
  not_reverted: 0,
  started_at: null,
  ended_at: null,
};
