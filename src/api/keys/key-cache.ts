/** The keys that are in use, so that verifying one asks no database. */
import { LRUCache } from "lru-cache";
import type { Invalidations, Stale } from "#api/invalidation.ts";
import type { KeyRecord } from "./key-record.ts";
import { TagIndex } from "./tag-index.ts";

type Load = (keyHash: string) => Promise<KeyRecord | undefined>;

/** A key as it was loaded; of an older generation than the cache's it has to be loaded anew. */
type Entry = { record: KeyRecord; generation: number };

/** About 1 kB each. */
const maxKeys = 100_000;

/** A hash that is not known is remembered for so long: someone who guesses does not load Postgres. */
const unknownMs = 1_000;
const maxUnknown = 10_000;

/** While the database cannot be reached, what was known of a key is used for at most so long. */
const outageMs = 10 * 60_000;
const outageLoadTimeoutMs = 1_000;

/** After a failed load the database is left alone for so long. */
const restAfterFailureMs = 500;

export class KeyCache {
  readonly counters = { hits: 0, misses: 0, outage: 0 };
  readonly #load: Load;
  readonly #invalidations: Pick<Invalidations, "isLive">;
  readonly #known: LRUCache<string, Entry>;
  readonly #unknown = new LRUCache<string, true>({ max: maxUnknown, ttl: unknownMs });
  readonly #index = new TagIndex();
  readonly #loading = new Map<string, Promise<KeyRecord | undefined>>();
  /** What became stale while a load ran, for each that runs. */
  readonly #staleMeanwhile = new Set<Set<Stale | undefined>>();
  #generation = 0;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(load: Load, invalidations: Pick<Invalidations, "isLive" | "subscribe">) {
    this.#load = load;
    this.#invalidations = invalidations;
    this.#known = new LRUCache({
      max: maxKeys,
      ttl: outageMs,
      dispose: ({ record }, keyHash) => this.#index.remove(keyHash, tagsOf(record)),
    });
    invalidations.subscribe((stale) => this.#forget(stale));
  }

  /** The key of this hash; undefined when there is none. */
  get(keyHash: string): KeyRecord | undefined | Promise<KeyRecord | undefined> {
    const entry = this.#known.get(keyHash);
    if (entry === undefined) {
      if (this.#unknown.has(keyHash)) return undefined;
      this.counters.misses += 1;
      return this.#loadOnce(keyHash);
    }
    if (entry.generation === this.#generation && this.#invalidations.isLive()) {
      this.counters.hits += 1;
      return entry.record;
    }
    return this.#reload(keyHash, entry.record);
  }

  /** There is a key of this hash now. */
  forgetUnknown(keyHash: string): void {
    this.#unknown.delete(keyHash);
  }

  #forget(stale: Stale | undefined): void {
    for (const meanwhile of this.#staleMeanwhile) meanwhile.add(stale);
    this.#unknown.clear();
    if (stale === undefined) this.#generation += 1;
    else for (const keyHash of this.#index.find(stale)) this.#known.delete(keyHash);
  }

  /** Asks the database; what was known stands in when it does not answer. */
  async #reload(keyHash: string, last: KeyRecord): Promise<KeyRecord | undefined> {
    if (performance.now() - this.#failedAt < restAfterFailureMs) return this.#outage(last);
    try {
      return await withTimeLimit(this.#loadOnce(keyHash), outageLoadTimeoutMs);
    } catch {
      this.#failedAt = performance.now();
      return this.#outage(last);
    }
  }

  #outage(last: KeyRecord): KeyRecord {
    this.counters.outage += 1;
    return last;
  }

  #loadOnce(keyHash: string): Promise<KeyRecord | undefined> {
    const running = this.#loading.get(keyHash);
    if (running !== undefined) return running;
    const run = this.#loadAndKeep(keyHash).finally(() => this.#loading.delete(keyHash));
    this.#loading.set(keyHash, run);
    return run;
  }

  async #loadAndKeep(keyHash: string): Promise<KeyRecord | undefined> {
    const meanwhile = new Set<Stale | undefined>();
    this.#staleMeanwhile.add(meanwhile);
    try {
      const record = await this.#load(keyHash);
      this.#keep(keyHash, record, meanwhile);
      return record;
    } finally {
      this.#staleMeanwhile.delete(meanwhile);
    }
  }

  /** Keeps what was loaded, unless it changed while it was. */
  #keep(keyHash: string, record: KeyRecord | undefined, meanwhile: Set<Stale | undefined>): void {
    if (record === undefined) {
      this.#known.delete(keyHash);
      if (meanwhile.size === 0) this.#unknown.set(keyHash, true);
      return;
    }
    const tags = tagsOf(record);
    if (meanwhile.has(undefined) || tags.some((tag) => meanwhile.has(tag))) return;
    this.#known.set(keyHash, { record, generation: this.#generation });
    this.#index.add(keyHash, tags);
  }
}

function tagsOf(record: KeyRecord): Stale[] {
  const tags: Stale[] = [
    `key:${record.id}`,
    `keySpace:${record.keySpaceId}`,
    `workspace:${record.workspaceId}`,
  ];
  if (record.forWorkspaceId !== null) tags.push(`workspace:${record.forWorkspaceId}`);
  if (record.identity !== null) tags.push(`identity:${record.identity.id}`);
  return tags;
}

async function withTimeLimit<Value>(promise: Promise<Value>, ms: number): Promise<Value> {
  const { promise: limit, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  return Promise.race([promise, limit]).finally(() => clearTimeout(timer));
}
