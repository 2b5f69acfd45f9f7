/** The number of stored logs of deploys that fail alike: a bad image would fill the database with the same lines. */

export const mostAlike = 5;

/** The factor of tries that find no log: a fleet without logs is not asked for each of them. */
const triesOfOne = 4;

/** More ways to fail than rollouts of one time have. */
const mostWays = 1_000;

type Share = "asked" | "kept" | "none";

/** `wait`: as many as may be kept are being read. `tried`: many were read, and few kept. */
type Turn = "read" | "wait" | "kept" | "enough" | "tried";

export type LogBudget = {
  /** Returns if this deploy's log may be read now; `kept`: it has been already. Whoever reads has to settle. */
  take: (way: string, deployId: string) => Turn;
  /** Records the outcome; a log that is not stored leaves its place to another one. */
  settle: (way: string, deployId: string, share: "kept" | "none") => void;
  /** Ends once one is settled. */
  settled: (way: string) => Promise<void>;
};

type Way = { shares: Map<string, Share>; change: PromiseWithResolvers<void> };

export function createLogBudget(most = mostAlike): LogBudget {
  const ways = new Map<string, Way>();

  const open = (name: string): Way => {
    const [oldest] = ways;
    if (ways.size >= mostWays && oldest !== undefined) {
      ways.delete(oldest[0]);
      oldest[1].change.resolve();
    }
    const way: Way = { shares: new Map(), change: Promise.withResolvers() };
    ways.set(name, way);
    return way;
  };

  return {
    take(name, deployId) {
      const { shares } = ways.get(name) ?? open(name);
      const turn = turnOf(shares, deployId, most);
      if (turn === "read") shares.set(deployId, "asked");
      return turn;
    },
    settle(name, deployId, share) {
      const way = ways.get(name);
      // A repetition finds none where one is kept already.
      if (way === undefined || way.shares.get(deployId) === "kept") return;
      way.shares.set(deployId, share);
      way.change.resolve();
      way.change = Promise.withResolvers();
    },
    settled: async (name) => ways.get(name)?.change.promise,
  };
}

/** Whoever was asked for before may be asked for again. */
function turnOf(shares: ReadonlyMap<string, Share>, deployId: string, most: number): Turn {
  if (shares.get(deployId) === "kept") return "kept";
  const others = [...shares].filter(([id, share]) => id !== deployId && share !== "none");
  if (others.filter(([, share]) => share === "kept").length >= most) return "enough";
  if (others.length >= most) return "wait";
  return shares.has(deployId) || shares.size < most * triesOfOne ? "read" : "tried";
}
