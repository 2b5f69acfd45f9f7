/** How many logs are kept of deploys that fail in the same way: a bad image would fill the database with the same lines. */

export const mostAlike = 5;

/** Of those that have none: a fleet without logs is not asked for each of them. */
const triesOfOne = 4;

/** More ways to fail than rollouts of one time have. */
const mostWays = 1_000;

export type LogBudget = {
  /** Whether this deploy's log may be kept. The same for every repetition of one deploy. */
  take: (way: string, deployId: string) => boolean;
  /** It had no log. */
  giveBack: (way: string, deployId: string) => void;
};

export function createLogBudget(most = mostAlike): LogBudget {
  /** By way, the deploys whose logs were asked for, and whether they had one. */
  const asked = new Map<string, Map<string, boolean>>();
  return {
    take(way, deployId) {
      const deploys = asked.get(way) ?? new Map<string, boolean>();
      if (!deploys.has(deployId) && !hasRoom(deploys, most)) return false;
      if (!asked.has(way) && asked.size >= mostWays) asked.delete(asked.keys().next().value ?? "");
      asked.set(way, deploys.set(deployId, true));
      return true;
    },
    giveBack(way, deployId) {
      asked.get(way)?.set(deployId, false);
    },
  };
}

function hasRoom(deploys: ReadonlyMap<string, boolean>, most: number): boolean {
  const found = deploys.values().filter(Boolean).toArray().length;
  return found < most && deploys.size < most * triesOfOne;
}
