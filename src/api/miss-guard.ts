/**
 * Who asks for keys that there are not: each costs a query, and the pool is everybody's. A few a second
 * are free for each asker; what is beyond that goes one after the other beside the pool's other work.
 */
import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import { ApiError } from "./error.ts";

/** How many misses are free at once, and how many more each second. */
type Budget = { burst: number; perSecond: number };

const budgets = {
  asker: { burst: 200, perSecond: 20 },
  everyone: { burst: 1_000, perSecond: 200 },
} as const satisfies Record<string, Budget>;

/** Who was not heard of for longest is forgotten first, and has a whole budget again. */
const maxAskers = 10_000;

/** Of the pool's connections so many do what is beyond a budget; so many may wait for them. */
const laneWidth = 2;
const laneLength = 200;

export type MissGuard = ReturnType<typeof createMissGuard>;

export function createMissGuard(nowMs: () => number = () => performance.now()) {
  const askers = new LRUCache<string, Bucket>({ max: maxAskers });
  const everyone = new Bucket(budgets.everyone, nowMs());
  const lane = pLimit(laneWidth);
  const bucketOf = (address: string): Bucket => {
    const asker = askerAt(address);
    const known = askers.get(asker) ?? new Bucket(budgets.asker, nowMs());
    askers.set(asker, known);
    return known;
  };
  const isOver = (asker: string): boolean => {
    const now = nowMs();
    return bucketOf(asker).left(now) < 1 || everyone.left(now) < 1;
  };
  /** Answers whether there was enough for it. */
  const spend = (asker: string, count: number): boolean => {
    const isEnough = !isOver(asker);
    for (const bucket of [bucketOf(asker), everyone]) bucket.take(count, nowMs());
    return isEnough;
  };
  return {
    /** Whether what this asker asks for next has to wait its turn. */
    isOver,
    /**
     * Loads for this asker. What is found is free. Throws the 429 when too many wait already.
     */
    load: async <Value>(
      asker: string,
      load: () => Promise<Value | undefined>,
    ): Promise<Value | undefined> => {
      const isFree = spend(asker, 1);
      if (!isFree && lane.pendingCount >= laneLength) throw tooMany();
      let isMiss = false;
      try {
        const found = await (isFree ? load() : lane(load));
        isMiss = found === undefined;
        return found;
      } finally {
        if (!isMiss) spend(asker, -1);
      }
    },
  };
}

class Bucket {
  readonly #budget: Budget;
  #left: number;
  #atMs: number;

  constructor(budget: Budget, nowMs: number) {
    this.#budget = budget;
    this.#left = budget.burst;
    this.#atMs = nowMs;
  }

  left(nowMs: number): number {
    const { burst, perSecond } = this.#budget;
    this.#left = Math.min(burst, this.#left + ((nowMs - this.#atMs) * perSecond) / 1_000);
    this.#atMs = nowMs;
    return this.#left;
  }

  /** Debts are small: who floods is not shut out for longer than the flood and a second. */
  take(count: number, nowMs: number): void {
    this.#left = Math.max(this.left(nowMs) - count, -this.#budget.perSecond);
  }
}

function tooMany(): ApiError {
  return new ApiError(
    "user/too_many_requests/workspace_rate_limited",
    "Too many keys that do not exist were asked for from here. Please try again later.",
    { headers: { "Retry-After": "1" } },
  );
}

/** An asker by its address, or by what else it is called: of IPv6 the network, of which one machine has all addresses. */
export function askerAt(address: string): string {
  const mapped = /^::ffff:(\d+(?:\.\d+){3})$/i.exec(address)?.[1];
  if (mapped !== undefined || !address.includes(":")) return mapped ?? address;
  const [head = ""] = address.split("::");
  const groups = head === "" ? [] : head.split(":");
  return `${[...groups, "0", "0", "0", "0"].slice(0, 4).join(":")}::/64`;
}
