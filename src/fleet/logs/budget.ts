/** How many logs are kept of deploys that fail in the same way: a bad image would fill the database with the same lines. */

export const mostAlike = 5;

/** More ways to fail than rollouts of one time have. */
const mostWays = 1_000;

export type LogBudget = {
  /** Whether this deploy's log may be kept. The same for every repetition of one deploy. */
  take: (way: string, deployId: string) => boolean;
  /** It had no log. */
  giveBack: (way: string, deployId: string) => void;
};

export function createLogBudget(most = mostAlike): LogBudget {
  /** By way, the deploys that have taken their part. */
  const taken = new Map<string, Set<string>>();
  return {
    take(way, deployId) {
      const deploys = taken.get(way) ?? new Set();
      const isTaken = deploys.has(deployId);
      if (!isTaken && deploys.size >= most) return false;
      if (!taken.has(way) && taken.size >= mostWays) taken.delete(taken.keys().next().value ?? "");
      taken.set(way, deploys.add(deployId));
      return true;
    },
    giveBack(way, deployId) {
      taken.get(way)?.delete(deployId);
    },
  };
}
