/** Assigns sentinels to waves: every region in proportion, and inside a region by a salted hash. */
import { hash as digest } from "node:crypto";

type PlannedWave = { percentage: number; size: number; covered: number };

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

type Placement = { id: string; region: string };

/**
 * Splits `members` into waves of the given sizes (their sum is the number of members). The result
 * depends on nothing but the arguments, so that a plan shown is the plan run; another salt makes
 * other sentinels go first, so that the risk of being first is shared.
 */
export function spreadOverWaves<Member extends Placement>(
  members: readonly Member[],
  sizes: readonly number[],
  salt: string,
): Member[][] {
  let regions = queueByRegion(members, salt);
  return sizes.map((size) => {
    // An optimization: with very many regions most are soon empty.
    regions = regions.filter((queue) => queue.length > 0);
    const shares = apportion(
      regions.map((queue) => queue.length),
      size,
    );
    return interleave(regions.map((queue, i) => queue.splice(0, shares[i] ?? 0)));
  });
}

/** Splits `seats` over groups in proportion to their weights, by largest remainder. */
export function apportion(weights: readonly number[], seats: number): number[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total === 0) return weights.map(() => 0);
  const shares = weights.map((weight) => Math.floor((weight * seats) / total));
  const missing = seats - shares.reduce((sum, share) => sum + share, 0);
  const remainders = weights.map((weight) => (weight * seats) % total);
  for (const i of indexesOfLargest(remainders, missing)) shares[i] = (shares[i] ?? 0) + 1;
  return shares;
}

/** The first index first among equals. Sorts distinct values, which are few: regions of a size share a remainder. */
function indexesOfLargest(values: readonly number[], count: number): number[] {
  const byValue = Map.groupBy(values.keys(), (i) => values[i] ?? 0);
  const largest: number[] = [];
  for (const [, indexes] of [...byValue].sort(([a], [b]) => b - a)) {
    if (largest.length >= count) break;
    for (const index of indexes) largest.push(index);
  }
  return largest.slice(0, count);
}

/** One queue per region. The salt decides the order in each queue, and between regions of equal share. */
function queueByRegion<Member extends Placement>(members: readonly Member[], salt: string) {
  const queues = Map.groupBy(members, (member) => member.region);
  return sortByHash([...queues], salt, ([region]) => region).map(([, queue]) =>
    sortByHash(queue, salt, ({ id }) => id),
  );
}

function sortByHash<Item>(items: readonly Item[], salt: string, nameOf: (item: Item) => string) {
  return items
    .map((item) => ({ item, rank: hash(salt, nameOf(item)) }))
    .sort((a, b) => compare(a.rank, b.rank))
    .map(({ item }) => item);
}

/** Mixes the groups evenly, so that the deploys in flight at one time are spread over regions too. */
function interleave<Member>(groups: readonly Member[][]): Member[] {
  return groups
    .flatMap((group) => group.map((member, i) => ({ member, position: (i + 0.5) / group.length })))
    .sort((a, b) => a.position - b.position)
    .map(({ member }) => member);
}

function hash(salt: string, text: string): string {
  return digest("sha256", `${salt}\0${text}`, "hex");
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
