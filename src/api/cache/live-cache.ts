/** A cache of records in use: most calls need no database, and no stale record is ever used. */
import { LRUCache } from "lru-cache";
import { ApiError } from "#api/error.ts";
import { unlessLate } from "#kernel/async.ts";
import type { Invalidations, Stale } from "./invalidation.ts";
import { Marks } from "./marks.ts";
import type { Asker, MissGuard } from "./miss-guard.ts";

export type LiveCacheSettings<Value> = {
  /** Returns undefined for a name without a record. */
  load: (name: string) => Promise<Value | undefined>;
  /** Lists the changes that make a record stale. */
  tagsOf: (value: Value) => Stale[];
  invalidations: Pick<Invalidations, "isLive" | "subscribe" | "catchUp">;
  maxEntries: number;
  /** Counts the ordinary records that one counts as, a whole number from 1; absent: each counts as one. */
  weightOf?: (value: Value) => number;
  /** Bounds the cost of lookups of names without a record; absent: they are not bounded. */
  guard?: MissGuard;
  /** Shared by the caches of one database; absent: the cache has one of its own. */
  outage?: Outage;
};

/** Since when the database has not answered, and its first error; undefined: it answers. */
export type Outage = { since?: number | undefined; error?: unknown; failedAt?: number };

/** Loaded again when its generation is older than the cache's; stale when the version of its tags has grown. */
type Entry<Value> = {
  value: Value;
  generation: number;
  version: number;
  /** `Marks.touched` when the version was last compared. */
  touched: number;
  /** `#kept` when the record last moved to the front of those in use. */
  kept: number;
  /** Times of its load and of its expiry, by `performance.now()`, in whole ms, which need no memory of their own. */
  loadedAt: number;
  staleAt: number;
};

/** `meanwhile`: what became stale since the load began. */
type Load = { meanwhile: Set<Stale | undefined>; loadedAt: number };

/** A record expires after a random time in this range, so that not all are loaded again at once. */
const lifetimeMs = { least: 240_000, most: 360_000 };

/** The lifetime while no invalidations are received: within the second in which a change takes effect. */
const unwatchedLifetimeMs = 250;

/** A miss is cached for so long, so that guessing keys puts no load on Postgres. */
const unknownMs = 1_000;
const maxUnknown = 10_000;

/** While the database does not answer, expired records are used for at most so long. */
const outageMs = 10 * 60_000;
const limitMs = 500;
const noAnswer = () => new Error(`timeout: no answer within ${limitMs} ms`);

/** During an outage, expired records are used at once, and one load in so long finds out whether it is over. */
const tryEveryMs = 500;

export class LiveCache<Value extends object> {
  readonly counters = { hits: 0, misses: 0, outage: 0 };
  readonly #settings: LiveCacheSettings<Value>;
  readonly #known: LRUCache<string, Entry<Value>>;
  readonly #unknown = new LRUCache<string, true>({ max: maxUnknown, ttl: unknownMs });
  readonly #marks = new Marks();
  readonly #loading = new Map<string, Promise<Value | undefined>>();
  /** Lookups that wait for the guard, or that it has just admitted. */
  readonly #asked = new Map<string, Promise<Value | undefined>>();
  /** Changes that arrived while a load ran: a set for each running load. */
  readonly #staleMeanwhile = new Set<Set<Stale | undefined>>();
  #generation = 0;
  /** Number of records stored so far. */
  #kept = 0;
  readonly #outage: Outage;

  constructor(settings: LiveCacheSettings<Value>) {
    this.#settings = settings;
    const { maxEntries, weightOf, outage = {} } = settings;
    this.#outage = outage;
    this.#known = new LRUCache({
      // With `max`, it would allocate the memory for all of them now.
      maxSize: maxEntries,
      sizeCalculation: ({ value }) => weightOf?.(value) ?? 1,
    });
    settings.invalidations.subscribe((stale) => this.#forget(stale));
  }

  /** The record; undefined: none. With a guard: within `asker`'s budget a miss is not cached, so that new records are found. */
  get(name: string, asker?: () => Asker): Value | undefined | Promise<Value | undefined> {
    this.#settings.invalidations.catchUp?.();
    const entry = this.#known.peek(name);
    if (entry === undefined) return this.#loadUnknown(name, asker);
    // The order of use matters only to what is kept later.
    if (entry.kept !== this.#kept) {
      this.#known.get(name);
      entry.kept = this.#kept;
    }
    if (entry.touched !== this.#marks.touched) {
      if (entry.version !== this.#marks.versionOf(this.#settings.tagsOf(entry.value))) {
        // The name was not guessed: many records that become stale at once use up no budget.
        this.counters.misses += 1;
        return this.#loadOnce(name);
      }
      entry.touched = this.#marks.touched;
    }
    if (entry.generation === this.#generation && this.#isFresh(entry)) {
      this.counters.hits += 1;
      this.#outage.since = undefined;
      return entry.value;
    }
    return this.#reload(name, entry.value);
  }

  #loadUnknown(name: string, by?: () => Asker): undefined | Promise<Value | undefined> {
    const { guard } = this.#settings;
    const asker = guard === undefined ? undefined : by?.();
    const isRemembered = asker === undefined || guard?.isOver(asker) === true;
    if (isRemembered && this.#unknown.has(name)) return undefined;
    this.counters.misses += 1;
    const running = this.#loading.get(name);
    if (running !== undefined) return running;
    return asker === undefined ? this.#loadOnce(name) : this.#loadAsked(name, asker);
  }

  /** Callers of one name share one wait for the guard; a refusal applies only to the caller that it was for. */
  #loadAsked(name: string, asker: Asker): Promise<Value | undefined> {
    const ask = () =>
      this.guarded(asker, () => {
        this.#asked.delete(name);
        return this.#loadOnce(name);
      });
    const asked = this.#asked.get(name);
    if (asked !== undefined) {
      return asked.catch((error) => {
        if (error instanceof ApiError) return ask();
        throw error;
      });
    }
    const asking = ask().finally(() => {
      if (this.#asked.get(name) === asking) this.#asked.delete(name);
    });
    this.#asked.set(name, asking);
    return asking;
  }

  /** Runs a load that may be a miss, within the caller's budget. Throws the guard's 429. */
  guarded(asker: Asker, load: () => Promise<Value | undefined>): Promise<Value | undefined> {
    const { guard } = this.#settings;
    return guard === undefined ? load() : guard.load(asker, load);
  }

  #isFresh({ loadedAt, staleAt }: Entry<Value>): boolean {
    const now = performance.now();
    if (this.#settings.invalidations.isLive(now)) return now < staleAt;
    return now - loadedAt < unwatchedLifetimeMs;
  }

  /** Forgets a cached miss: there is a record of this name now. */
  forgetUnknown(name: string): void {
    this.#unknown.delete(name);
  }

  #forget(stale: Stale | undefined): void {
    for (const meanwhile of this.#staleMeanwhile) meanwhile.add(stale);
    this.#unknown.clear();
    // They may have read the state before the change: good for callers that already wait, not for later ones.
    this.#loading.clear();
    if (stale !== undefined) this.#marks.touch(stale);
    else {
      this.#generation += 1;
      // The database is heard from again.
      this.#outage.since = undefined;
    }
  }

  /** Queries the database; falls back to the expired record when it does not answer. */
  #reload(name: string, last: Value): Value | Promise<Value | undefined> {
    const { since, failedAt = 0 } = this.#outage;
    const nowMs = performance.now();
    const loading = () => unlessLate(() => this.#loadOnce(name), { limitMs, late: noAnswer() });
    if (since === undefined || nowMs - since > outageMs) {
      return loading().catch((error) => {
        this.#recordFailure(error);
        return this.#fallBack(last);
      });
    }
    if (nowMs - failedAt >= tryEveryMs) {
      this.#outage.failedAt = nowMs;
      loading().catch((error) => this.#recordFailure(error));
    }
    return this.#fallBack(last);
  }

  #recordFailure(error: unknown): void {
    const nowMs = performance.now();
    this.#outage.failedAt = nowMs;
    if (this.#outage.since === undefined) Object.assign(this.#outage, { since: nowMs, error });
  }

  #fallBack(last: Value): Value {
    const { since, error } = this.#outage;
    if (since !== undefined && performance.now() - since > outageMs) throw error;
    this.counters.outage += 1;
    return last;
  }

  #loadOnce(name: string): Promise<Value | undefined> {
    const running = this.#loading.get(name);
    if (running !== undefined) return running;
    const run = this.#loadAndKeep(name).finally(() => {
      if (this.#loading.get(name) === run) this.#loading.delete(name);
    });
    this.#loading.set(name, run);
    return run;
  }

  async #loadAndKeep(name: string): Promise<Value | undefined> {
    const meanwhile = new Set<Stale | undefined>();
    const loadedAt = performance.now();
    this.#staleMeanwhile.add(meanwhile);
    try {
      const value = await this.#settings.load(name);
      this.#settings.invalidations.catchUp?.();
      this.#outage.since = undefined;
      this.#keep(name, value, { meanwhile, loadedAt });
      return value;
    } finally {
      this.#staleMeanwhile.delete(meanwhile);
    }
  }

  /** Caches what was loaded, unless it became stale during the load. */
  #keep(name: string, value: Value | undefined, { meanwhile, loadedAt }: Load): void {
    if (value === undefined) {
      this.#known.delete(name);
      if (meanwhile.size === 0) this.#unknown.set(name, true);
      return;
    }
    const { tagsOf, weightOf, maxEntries } = this.#settings;
    if (weightOf !== undefined && weightOf(value) > maxEntries) {
      this.#known.delete(name);
      return;
    }
    const tags = tagsOf(value);
    if (meanwhile.has(undefined) || tags.some((tag) => meanwhile.has(tag))) return;
    this.#kept += 1;
    const lifeMs = lifetimeMs.least + Math.random() * (lifetimeMs.most - lifetimeMs.least);
    this.#known.set(name, {
      value,
      generation: this.#generation,
      version: this.#marks.versionOf(tags),
      touched: this.#marks.touched,
      kept: this.#kept,
      loadedAt: Math.floor(loadedAt),
      staleAt: Math.floor(loadedAt + lifeMs),
    });
  }
}
