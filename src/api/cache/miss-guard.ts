/** Bounds lookups of unknown keys: a few misses a second are free for each caller, further ones run a few at a time. */
import { isIP } from "node:net";
import { LRUCache } from "lru-cache";
import type { LimitFunction } from "p-limit";
import pLimit from "p-limit";
import { ApiError } from "#api/error.ts";

/** Free misses: so many at once, and so many more each second. */
type Budget = { burst: number; perSecond: number };

const budgets = {
  asker: { burst: 200, perSecond: 20 },
  /** Budget of all clients of a gateway: it can make up any number of them. */
  group: { burst: 500, perSecond: 80 },
  everyone: { burst: 1_000, perSecond: 200 },
} as const satisfies Record<string, Budget>;

/** The least recently seen caller is forgotten first, and then has a full budget again. */
const maxAskers = 10_000;

/** Beyond a budget so many run and wait, in two lanes: who exceeds its own budget does not delay those of a shared one. */
const laneWidth = 2;
const laneLength = 200;

/** Most loads that wait until those before are known to be misses: without the database they must not fill the memory. */
const maxWaiting = 5_000;

/** The caller, and the group that it belongs to, if any. */
export type Asker = readonly [name: string, group?: string];

export type MissGuard = ReturnType<typeof createMissGuard>;

type Askers = ReturnType<typeof createAskers>;

/** Creates a cache without `max`: with it, each would take the memory for all of them now. */
const createAskers = () =>
  new LRUCache<string, Bucket>({ maxSize: maxAskers, sizeCalculation: () => 1 });

const createGroup = (nowMs: number) => ({
  bucket: new Bucket(budgets.group, nowMs),
  askers: createAskers(),
});

/** `width`: of each lane; two, if nothing else is said. */
export function createMissGuard(nowMs: () => number = () => performance.now(), width = laneWidth) {
  const askers = createAskers();
  // Each group has its own: one that makes up askers does not push out another group's.
  const groups = new LRUCache<string, ReturnType<typeof createGroup>>({ max: maxAskers });
  const everyone = new Bucket(budgets.everyone, nowMs());
  const lanes = { own: pLimit(width), shared: pLimit(width) };
  const bucketOf = (known: Askers, name: string): Bucket => {
    const bucket = known.get(name) ?? new Bucket(budgets.asker, nowMs());
    known.set(name, bucket);
    return bucket;
  };
  /** The narrowest first. */
  const bucketsOf = ([name, group]: Asker): Bucket[] => {
    if (group === undefined) return [bucketOf(askers, name), everyone];
    const known = groups.get(group) ?? createGroup(nowMs());
    groups.set(group, known);
    return [bucketOf(known.askers, name), known.bucket, everyone];
  };
  /** The lane to wait in, undefined: the budgets suffice; and the budgets that a miss is charged to. */
  const enter = async (asker: Asker) => {
    const entered: Bucket[] = [];
    for (const bucket of bucketsOf(asker)) {
      if (await bucket.enter(nowMs())) {
        entered.push(bucket);
        continue;
      }
      for (const narrower of entered) narrower.leave(nowMs());
      const lane = entered.length === 0 ? lanes.own : lanes.shared;
      // A flood uses up no budget wider than the one that stops it.
      return { lane, entered: [], charged: [...entered, bucket] };
    }
    return { lane: undefined, entered, charged: entered };
  };
  return {
    /** True if this caller's next lookup has to wait in a lane. */
    isOver: (asker: Asker): boolean => bucketsOf(asker).some((bucket) => bucket.left(nowMs()) < 1),
    /** A hit is free. No more unknown loads run than a budget has left. Throws the 429 when too many wait. */
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

  /** True if a load may run; waits while the running ones may use up what is left. It calls `leave` at its end. */
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

  /** Loads that still wait afterwards wait for a running one. */
  #admit(nowMs: number): void {
    const left = this.left(nowMs);
    const room = left < 1 ? this.#waiting.length : Math.floor(left - this.#running);
    for (const resolve of this.#waiting.splice(0, Math.max(0, room))) {
      if (left >= 1) this.#running += 1;
      resolve(left >= 1);
    }
  }

  /** The debt is bounded: after a flood its caller is refused for one more second at most. */
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
  // All callers with something else in place of an address share one budget.
  if (isIP(address) === 0) return "elsewhere";
  if (!address.includes(":")) return address;
  const [head = ""] = address.split("::");
  const groups = head === "" ? [] : head.split(":");
  return `${[...groups, "0", "0", "0", "0"].slice(0, 4).join(":")}::/64`;
}
