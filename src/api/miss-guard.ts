/**
 * Who asks for keys that there are not: each costs a query, and the pool is everybody's. A few a second
 * are free for each asker; what is beyond that goes one after the other beside the pool's other work.
 */
import { isIP } from "node:net";
import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import { ApiError } from "./error.ts";

/** How many misses are free at once, and how many more each second. */
type Budget = { burst: number; perSecond: number };

const budgets = {
  asker: { burst: 200, perSecond: 20 },
  /** Of all whom a gateway asks for: it can make up any number of them. */
  group: { burst: 500, perSecond: 80 },
  everyone: { burst: 1_000, perSecond: 200 },
} as const satisfies Record<string, Budget>;

/** Who was not heard of for longest is forgotten first, and has a whole budget again. */
const maxAskers = 10_000;

/**
 * Of the pool's connections so many do what is beyond a budget; so many may wait for them. Twice: who is
 * over a budget of its own keeps nobody waiting who only shares one that is used up.
 */
const laneWidth = 2;
const laneLength = 200;

/** Who asks, and the group that it asks in, if any. */
export type Asker = readonly [name: string, group?: string];

export type MissGuard = ReturnType<typeof createMissGuard>;

export function createMissGuard(nowMs: () => number = () => performance.now()) {
  const askers = new LRUCache<string, Bucket>({ max: maxAskers });
  const groups = new LRUCache<string, Bucket>({ max: maxAskers });
  const everyone = new Bucket(budgets.everyone, nowMs());
  const lanes = { own: pLimit(laneWidth), shared: pLimit(laneWidth) };
  const bucketOf = (known: LRUCache<string, Bucket>, name: string, budget: Budget): Bucket => {
    const bucket = known.get(name) ?? new Bucket(budget, nowMs());
    known.set(name, bucket);
    return bucket;
  };
  /** From the narrowest on. */
  const bucketsOf = ([name, group]: Asker): Bucket[] => [
    bucketOf(askers, name, budgets.asker),
    ...(group === undefined ? [] : [bucketOf(groups, group, budgets.group)]),
    everyone,
  ];
  /** The lane to wait in; undefined: there is enough. A flood uses up nothing beyond where it ends. */
  const spend = (asker: Asker) => {
    const taken: Bucket[] = [];
    for (const bucket of bucketsOf(asker)) {
      const isEnough = bucket.left(nowMs()) >= 1;
      bucket.take(1, nowMs());
      taken.push(bucket);
      if (!isEnough) return { lane: taken.length === 1 ? lanes.own : lanes.shared, taken };
    }
    return { lane: undefined, taken };
  };
  return {
    /** Whether what this asker asks for next has to wait its turn. */
    isOver: (asker: Asker): boolean => bucketsOf(asker).some((bucket) => bucket.left(nowMs()) < 1),
    /**
     * Loads for this asker. What is found is free. Throws the 429 when too many wait already.
     */
    load: async <Value>(
      asker: Asker,
      load: () => Promise<Value | undefined>,
    ): Promise<Value | undefined> => {
      const { lane, taken } = spend(asker);
      if (lane !== undefined && lane.pendingCount >= laneLength) throw tooMany();
      let isMiss = false;
      try {
        const found = await (lane === undefined ? load() : lane(load));
        isMiss = found === undefined;
        return found;
      } finally {
        if (!isMiss) for (const bucket of taken) bucket.take(-1, nowMs());
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

/** An asker by its address: of IPv6 the network, of which one machine has all addresses. */
export function askerAt(address: string): string {
  const mapped = /^::ffff:(\d+(?:\.\d+){3})$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  // Whoever names something else instead is one with all who do.
  if (isIP(address) === 0) return "elsewhere";
  if (!address.includes(":")) return address;
  const [head = ""] = address.split("::");
  const groups = head === "" ? [] : head.split(":");
  return `${[...groups, "0", "0", "0", "0"].slice(0, 4).join(":")}::/64`;
}
