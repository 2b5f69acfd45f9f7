/** How many logs are kept of deploys that fail in the same way: a bad image would fill the database with the same lines. */

export const mostAlike = 5;

/** Of those that have none: a fleet without logs is not asked for each of them. */
const triesOfOne = 4;

/** More ways to fail than rollouts of one time have. */
const mostWays = 1_000;

type Share = "asked" | "kept" | "none";

export type LogBudget = {
  /** Whether this deploy's log may be read now; `kept`: it has been already. */
  take: (way: string, deployId: string) => "read" | "kept" | "enough";
  /** What has come of it; one that is not kept leaves its place to another one. */
  settle: (way: string, deployId: string, share: "kept" | "none") => void;
};

export function createLogBudget(most = mostAlike): LogBudget {
  /** By way, then by deploy. */
  const shares = new Map<string, Map<string, Share>>();
  return {
    take(way, deployId) {
      const deploys = shares.get(way) ?? new Map<string, Share>();
      if (deploys.get(deployId) === "kept") return "kept";
      if (!hasRoom(deploys, deployId, most)) return "enough";
      if (!shares.has(way) && shares.size >= mostWays) {
        shares.delete(shares.keys().next().value ?? "");
      }
      shares.set(way, deploys.set(deployId, "asked"));
      return "read";
    },
    settle(way, deployId, share) {
      shares.get(way)?.set(deployId, share);
    },
  };
}

/** Whoever was asked for before may be asked for again. */
function hasRoom(deploys: ReadonlyMap<string, Share>, deployId: string, most: number): boolean {
  const others = [...deploys].filter(([id, share]) => id !== deployId && share !== "none");
  return others.length < most && (deploys.has(deployId) || deploys.size < most * triesOfOne);
}
