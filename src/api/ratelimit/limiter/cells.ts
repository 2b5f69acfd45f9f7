/** Counters in bounded memory. Without room the workspace with the most loses one of its own, and no other does. */
import { ownerOf } from "#api/limiter.ts";
import {
  addLast,
  type CellMemory,
  createCellMemory,
  firstInRing,
  none,
  numbersOfCell,
  rankOf,
  removeFromRing,
  stateWords,
  tagWords,
} from "./cell-memory.ts";
import type { Cell } from "./window.ts";

/** The words of a part's state. */
export const words = {
  lock: 0,
  size: 1,
  /** The sweep's position. */
  hand: 2,
  /** The number of counters of the workspace that has the most. */
  most: 3,
  /** Number of cells' places that were ever used; the memory of the others is not touched. */
  fresh: 4,
  /** The first of the places that are free again; links lead from one to the next. */
  free: 5,
} as const;

/** Added to the words of `fresh` and `free`: those of the places of workspaces. */
const ofCells = 0;
const ofOwners = 2;

const sweepEveryMs = 1_000;

/** A sweep checks at least so many, and all of them within a minute: about 1 ms of work. */
const sweepAtLeast = 1_000;
const sweepsPerPass = 60;

/** The search for an expired cell checks so many before one that is still needed is evicted. */
const searchBeforeEviction = 64;

/** The one of so many of a workspace's cells that ends first is evicted. */
const choice = 8;

/** A name that is looked up, and the part and bucket where it belongs. */
export type Spot = { name: string | undefined; part: number; readonly tag: Int32Array };

export class Cells {
  /** Counters that this thread removed while a window needed them: whose room was needed, its workspace's or another's. */
  readonly evicted = { own: 0, other: 0 };
  protected readonly memory: CellMemory;
  readonly #timer: NodeJS.Timeout | undefined;
  /** The last look-up. */
  protected readonly cell: Spot = { name: undefined, part: 0, tag: new Int32Array(tagWords) };
  readonly #owner: Spot = { name: undefined, part: 0, tag: new Int32Array(tagWords) };
  /** The latest start of a window so far: by then, time had come so far at least. */
  #nowMs = 0;
  readonly #places = new Map<string, number>();
  readonly #names: string[] = [];

  /** `sweeps`: whether this thread removes what no window needs any more; one of them has to. */
  constructor(memory = createCellMemory({ parts: 1 }), { sweeps } = { sweeps: true }) {
    this.memory = memory;
    if (sweeps) this.#timer = setInterval(() => this.#sweepAll(), sweepEveryMs).unref();
  }

  get size(): number {
    let size = 0;
    for (let part = 0; part < this.memory.parts; part += 1) size += this.#state(part, words.size);
    return size;
  }

  /** Runs `work`, which alone gets and puts the counters of these names meanwhile, of all threads that share them. */
  hold<Result>(_names: readonly string[], work: () => Result): Result {
    return work();
  }

  get(name: string): Cell | undefined {
    this.seek(this.cell, name);
    const at = this.find(this.cell);
    if (at === none) return undefined;
    const { numbers } = this.memory;
    const first = (at - 1) * numbersOfCell;
    return {
      sequence: numbers[first] as number,
      current: numbers[first + 1] as number,
      previous: numbers[first + 2] as number,
    };
  }

  /** The workspace of a name is the part between its first two slashes. */
  put(name: string, { sequence, current, previous }: Cell, durationMs: number): void {
    this.seek(this.cell, name);
    const found = this.find(this.cell);
    const at = found === none ? this.#add(name, sequence * durationMs) : found;
    const { numbers } = this.memory;
    const first = (at - 1) * numbersOfCell;
    numbers[first] = sequence;
    numbers[first + 1] = current;
    numbers[first + 2] = previous;
    numbers[first + 3] = durationMs;
  }

  /** Checks the next `count` cells of a part, which must be held, and frees the expired ones. */
  sweep(part: number, nowMs: number, count: number): void {
    const { states, cellsPerPart } = this.memory;
    const fresh = this.#state(part, words.fresh);
    for (let checked = 0; checked < Math.min(count, fresh); checked += 1) {
      const hand = this.#state(part, words.hand) % fresh;
      states[part * stateWords + words.hand] = hand + 1;
      const at = part * cellsPerPart + hand + 1;
      if (this.#endOf(at) <= nowMs) this.#free(part, at);
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** A spot keeps its part when `name` is that of a workspace, which has a place in each part with a cell of it. */
  protected seek(spot: Spot, name: string): void {
    spot.name = name;
  }

  protected find({ name = "" }: Spot): number {
    return this.#places.get(name) ?? none;
  }

  protected link({ name = "" }: Spot, at: number): void {
    this.#places.set(name, at);
    this.#names[at] = name;
  }

  protected unlink(_part: number, at: number): void {
    this.#places.delete(this.#names[at] ?? "");
  }

  #sweepAll(): void {
    const count = Math.max(sweepAtLeast, Math.ceil(this.size / sweepsPerPass)) / this.memory.parts;
    for (let part = 0; part < this.memory.parts; part += 1) {
      this.holdPart(part, () => this.sweep(part, Date.now(), Math.ceil(count)));
    }
  }

  protected holdPart(_part: number, work: () => void): void {
    work();
  }

  /** The place of a new cell of the name that was looked for. `startMs`: of its window. */
  #add(name: string, startMs: number): number {
    const { part } = this.cell;
    this.#owner.part = part;
    this.seek(this.#owner, ownerOf(name.slice(name.indexOf("/") + 1)));
    this.#nowMs = Math.max(this.#nowMs, startMs);
    this.#makeRoom(part);
    const known = this.find(this.#owner);
    const owner = known === none ? this.#take(this.#owner, ofOwners) : known;
    const at = this.#take(this.cell, ofCells);
    this.memory.owners[at - 1] = owner;
    addLast(this.memory, owner, at);
    this.#resize(part, owner, 1);
    return at;
  }

  /** A place that was freed, or the next fresh one. */
  #take(spot: Spot, kind: number): number {
    const { states, links, owners, parts, cellsPerPart } = this.memory;
    const { part } = spot;
    let at = this.#state(part, words.free + kind);
    if (at === none) {
      at = (kind === ofCells ? part : parts + part) * cellsPerPart;
      at += this.#addTo(part, words.fresh + kind, 1);
    } else states[part * stateWords + words.free + kind] = links[at - 1] ?? none;
    owners[at - 1] = 0;
    this.link(spot, at);
    return at;
  }

  #makeRoom(part: number): void {
    if (!this.#isFull(part)) return;
    this.sweep(part, this.#nowMs, searchBeforeEviction);
    if (!this.#isFull(part)) return;
    const { memory } = this;
    const most = this.#state(part, words.most);
    const own = this.find(this.#owner);
    const isOwn = own !== none && this.#countOf(own) >= most;
    const largest = firstInRing(memory, rankOf(memory, part, most)) - memory.ranked;
    const at = this.#soonestOf(isOwn ? own : largest);
    if (this.#endOf(at) > this.#nowMs) this.evicted[isOwn ? "own" : "other"] += 1;
    this.#free(part, at);
  }

  #isFull(part: number): boolean {
    const isUsed = this.#state(part, words.fresh) >= this.memory.cellsPerPart;
    return isUsed && this.#state(part, words.free) === none;
  }

  /** Returns the one of the workspace's oldest few cells that ends first; the others are then its newest. */
  #soonestOf(owner: number): number {
    let soonest = firstInRing(this.memory, owner);
    for (let checked = 0; checked < choice; checked += 1) {
      const at = firstInRing(this.memory, owner);
      if (this.#endOf(at) < this.#endOf(soonest)) soonest = at;
      removeFromRing(this.memory, at);
      addLast(this.memory, owner, at);
    }
    return soonest;
  }

  /** Returns when no window needs a cell any more; never for a free one. */
  #endOf(at: number): number {
    const { numbers } = this.memory;
    const first = (at - 1) * numbersOfCell;
    const durationMs = numbers[first + 3] ?? 0;
    return durationMs > 0 ? ((numbers[first] ?? 0) + 2) * durationMs : Number.POSITIVE_INFINITY;
  }

  #free(part: number, at: number): void {
    const owner = this.memory.owners[at - 1] ?? none;
    this.memory.numbers[(at - 1) * numbersOfCell + 3] = 0;
    removeFromRing(this.memory, at);
    this.#release(part, at, ofCells);
    this.#resize(part, owner, -1);
    if (this.#countOf(owner) === 0) this.#release(part, owner, ofOwners);
  }

  #release(part: number, at: number, kind: number): void {
    const { states, links } = this.memory;
    this.unlink(part, at);
    links[at - 1] = this.#state(part, words.free + kind);
    states[part * stateWords + words.free + kind] = at;
  }

  #countOf(owner: number): number {
    return this.memory.owners[owner - 1] ?? 0;
  }

  /** Counts one cell more or less, so that the most of all changes by one at most. */
  #resize(part: number, owner: number, by: 1 | -1): void {
    const { memory } = this;
    const before = this.#countOf(owner);
    const count = before + by;
    memory.owners[owner - 1] = count;
    const ranked = owner + memory.ranked;
    if (before > 0) removeFromRing(memory, ranked);
    if (count > 0) addLast(memory, rankOf(memory, part, count), ranked);
    this.#addTo(part, words.size, by);
    const most = this.#state(part, words.most);
    const isEmpty = most === before && firstInRing(memory, rankOf(memory, part, most)) === none;
    if (count > most || isEmpty) memory.states[part * stateWords + words.most] = count;
  }

  #state(part: number, word: number): number {
    return this.memory.states[part * stateWords + word] ?? 0;
  }

  /** Returns the sum. */
  #addTo(part: number, word: number, count: number): number {
    const sum = this.#state(part, word) + count;
    this.memory.states[part * stateWords + word] = sum;
    return sum;
  }
}
