/** Reads the size of each wave, for progress bars. undefined is no error: progress then shows as lines. */
import type { Connection } from "#cli/connection.ts";
import type { RolloutRequest } from "#rollout/contract.ts";

export type WaveSize = { wave: number; size: number; covered: number };

/** The waves that a rollout would have. */
export function planOf(
  connection: Connection,
  request: RolloutRequest,
): Promise<WaveSize[] | undefined> {
  return connection.rollout("Plan", request).then(
    ({ waves }) => waves,
    () => undefined,
  );
}

/** The waves of the current rollout. */
export async function sizesOf(connection: Connection): Promise<WaveSize[] | undefined> {
  try {
    const { rollout_id } = await connection.rollout("Status", {});
    const { rollouts } = await connection.rollout("History", { limit: 1 });
    const latest = rollouts.find((rollout) => rollout.rollout_id === rollout_id);
    return latest && waveSizes(latest.total, latest.wave_percentages);
  } catch {
    return undefined;
  }
}

/**
 * Waves cover ⌈total·percentage/100⌉ sentinels in all; a wave that adds no sentinel is left out
 * (src/rollout/README.md, "Waves").
 */
export function waveSizes(total: number, percentages: readonly number[]): WaveSize[] {
  const waves: WaveSize[] = [];
  let before = 0;
  for (const percentage of percentages) {
    const covered = Math.floor((total * percentage + 99) / 100);
    if (covered > before) waves.push({ wave: waves.length + 1, size: covered - before, covered });
    before = covered;
  }
  return waves;
}
