/** Computes the number of sentinels that each wave covers. */

export type PlannedWave = { percentage: number; size: number; covered: number };

/**
 * The waves of a fleet of `total` sentinels: each cumulative percentage p covers
 * ⌈total·p/100⌉ of them, in whole numbers, because `ceil(total * (p / 100))` in floating point is
 * wrong for some pairs (25 sentinels at 28 %). Waves that would add no sentinel are left out.
 */
export function planWaves(total: number, percentages: readonly number[]): PlannedWave[] {
  const waves: PlannedWave[] = [];
  let covered = 0;
  for (const percentage of percentages) {
    const target = Math.floor((total * percentage + 99) / 100);
    if (target <= covered) continue;
    waves.push({ percentage, size: target - covered, covered: target });
    covered = target;
  }
  return waves;
}
