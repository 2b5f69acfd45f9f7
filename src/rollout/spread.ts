/** Which sentinels a wave takes: every region in proportion, and inside a region by a salted hash. */
import { createHash } from "node:crypto";

type Placed = { id: string; region: string };

/**
 * Splits `members` into waves of the given sizes (their sum is the number of members). The result
 * depends on nothing but the arguments, so that a plan shown is the plan run; another salt makes
 * other sentinels go first, so that the risk of being first is shared.
 */
export function spreadOverWaves<Member extends Placed>(
  members: readonly Member[],
  sizes: readonly number[],
  salt: string,
): Member[][] {
  const regions = queueByRegion(members, salt);
  return sizes.map((size) => {
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
  const byRemainder = weights
    .map((weight, i) => ({ i, remainder: (weight * seats) % total }))
    .sort((a, b) => b.remainder - a.remainder);
  for (const { i } of byRemainder.slice(0, missing)) shares[i] = (shares[i] ?? 0) + 1;
  return shares;
}

/** One queue per region, in an order that the salt decides; so are ties between regions. */
function queueByRegion<Member extends Placed>(members: readonly Member[], salt: string) {
  const queues = Map.groupBy(members, (member) => member.region);
  return [...queues]
    .sort(([a], [b]) => compare(hash(salt, a), hash(salt, b)))
    .map(([, queue]) => sortByHash(queue, salt));
}

function sortByHash<Member extends Placed>(members: Member[], salt: string): Member[] {
  return members
    .map((member) => ({ member, rank: hash(salt, member.id) }))
    .sort((a, b) => compare(a.rank, b.rank))
    .map(({ member }) => member);
}

/** Mixes the groups evenly, so that what is in flight at one time is spread as well. */
function interleave<Member>(groups: readonly Member[][]): Member[] {
  return groups
    .flatMap((group) => group.map((member, i) => ({ member, position: (i + 0.5) / group.length })))
    .sort((a, b) => a.position - b.position)
    .map(({ member }) => member);
}

function hash(salt: string, text: string): string {
  return createHash("sha256").update(`${salt}\0${text}`).digest("hex");
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
