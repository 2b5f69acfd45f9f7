/**
 * Who asks for keys that there are not: each costs a query, and the pool is everybody's. A few a second
 * are free for each asker; what is beyond that goes one after the other beside the pool's other work.
 */
import { isIP } from "node:net";
import { LRUCache } from "lru-cache";
import type { LimitFunction } from "p-limit";
import pLimit from "p-limit";
import { ApiError } from "#api/error.ts";

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

/**
 * So many loads may wait until it is known whether those before them were misses: while the database
 * stands still nobody's memory fills with them.
 */
const maxWaiting = 5_000;

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
  /** The lane to wait in, undefined: there is enough; and whose budgets a miss is charged to. */
  const enter = async (asker: Asker) => {
    const entered: Bucket[] = [];
    for (const bucket of bucketsOf(asker)) {
      if (await bucket.enter(nowMs())) {
        entered.push(bucket);
        continue;
      }
      for (const narrower of entered) narrower.leave(nowMs());
      const lane = entered.length === 0 ? lanes.own : lanes.shared;
      // A flood uses up nothing beyond where it ends.
      return { lane, entered: [], charged: [...entered, bucket] };
    }
    return { lane: undefined, entered, charged: entered };
  };
  return {
    /** Whether what this asker asks for next has to wait its turn. */
    isOver: (asker: Asker): boolean => bucketsOf(asker).some((bucket) => bucket.left(nowMs()) < 1),
    /**
     * Loads for this asker. What is found is free; while nobody knows yet whether what is asked for is a
     * miss, more than a budget has left waits. Throws the 429 when too many wait beyond a budget.
     */
    load: async <Value>(
      asker: Asker,
      load: () => Promise<Value | undefined>,
    ): Promise<Value | undefined> => {
      const { lane, entered, charged } = await enter(asker);
      try {
        const found = await (lane === undefined ? load() : runIn(lane, load));
        if (found === undefined) for (const bucket of charged) bucket.take(1, nowMs());
        return found;
      } finally {
        for (const bucket of entered) bucket.leave(nowMs());
      }
    },
  };
}

function runIn<Value>(lane: LimitFunction, load: () => Promise<Value>): Promise<Value> {
  if (lane.pendingCount >= laneLength) throw tooMany();
  return lane(load);
}

class Bucket {
  readonly #budget: Budget;
  #left: number;
  #atMs: number;
  /** Loads that have entered: each may turn out to be a miss. */
  #running = 0;
  readonly #waiting: ((mayRun: boolean) => void)[] = [];

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

  /**
   * Whether a load may run by this budget. While all that is left may be used up by those that run, it
   * waits until one of them was found, or too many were not. Who may run leaves when it is done.
   */
  async enter(nowMs: number): Promise<boolean> {
    if (this.left(nowMs) < 1 || this.#waiting.length >= maxWaiting) return false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#waiting.push(resolve);
    this.#admit(nowMs);
    return promise;
  }

  leave(nowMs: number): void {
    this.#running -= 1;
    this.#admit(nowMs);
  }

  /** Whoever still waits, waits for one that runs. */
  #admit(nowMs: number): void {
    const left = this.left(nowMs);
    const room = left < 1 ? this.#waiting.length : Math.floor(left - this.#running);
    for (const resolve of this.#waiting.splice(0, Math.max(0, room))) {
      if (left >= 1) this.#running += 1;
      resolve(left >= 1);
    }
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
