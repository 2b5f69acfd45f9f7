/**
 * The counters of all threads of a process, in shared memory that a limit of theirs is counted in exactly. The
 * memory has parts, each with a lock of its own; a counter's part and place follow from the hash of its name.
 */
import { hash, randomBytes } from "node:crypto";
import { lock, unlock, withLock } from "#kernel/thread-lock.ts";
import { type CellStore, isOver, sweepEveryMs, sweepSize } from "./cells.ts";
import type { Cell } from "./window.ts";

/** Of each part a cache line: two parts in one would slow each other down. */
const stateWords = 16;
const lockWord = 0;
const sizeWord = 1;
/** Cells below this index were used at some time; those above were not: their memory is not touched. */
const freshWord = 2;
/** The first of the cells that are free again; links lead from one to the next. */
const freeWord = 3;
/** The sweep's position. */
const handWord = 4;

/** Of a name 128 bits of its hash are kept: no two names that anybody can find have the same. */
const tagWords = 4;

/** What is hashed before each name: without it callers could choose names that fill one part, or one bucket. */
const saltBytes = 16;

/** A cell's `sequence`, `current`, `previous` and `durationMs`; the last one is 0 while the cell is free. */
const numbersOfCell = 4;

/** A place is an index of a cell plus one; this is none. */
const none = 0;

export type CellMemory = {
  parts: number;
  cellsPerPart: number;
  salt: string;
  states: Int32Array;
  /** The first place of each bucket, as many buckets as cells. */
  heads: Int32Array;
  /** The next place in the same bucket. */
  links: Int32Array;
  tags: Int32Array;
  numbers: Float64Array;
};

/** `maxCells`: 56 bytes each, of which the system takes only those that are used. */
export function createCellMemory({ maxCells = 1_000_000, parts = 64 } = {}): CellMemory {
  const cellsPerPart = Math.ceil(maxCells / parts);
  const cells = parts * cellsPerPart;
  const words = (count: number) => new Int32Array(new SharedArrayBuffer(count * 4));
  return {
    parts,
    cellsPerPart,
    salt: randomBytes(saltBytes).toString("base64"),
    states: words(parts * stateWords),
    heads: words(cells),
    links: words(cells),
    tags: words(cells * tagWords),
    numbers: new Float64Array(new SharedArrayBuffer(cells * numbersOfCell * 8)),
  };
}

/** How many cells are looked at for an expired one before one that is still needed is evicted. */
const searchBeforeEviction = 8;

/** One thread's access to them. */
export class SharedCells implements CellStore {
  readonly #memory: CellMemory;
  readonly #timer: NodeJS.Timeout | undefined;
  /** The name that was looked for last, its hash, and where it belongs. */
  #name: string | undefined;
  readonly #tag = new Int32Array(tagWords);
  #part = 0;
  #bucket = 0;

  /** `sweeps`: whether this thread removes what no window needs any more; one of them has to. */
  constructor(memory: CellMemory, { sweeps }: { sweeps: boolean }) {
    this.#memory = memory;
    if (sweeps) this.#timer = setInterval(() => this.#sweepAll(), sweepEveryMs).unref();
  }

  get size(): number {
    const { parts, states } = this.#memory;
    let size = 0;
    for (let part = 0; part < parts; part += 1) size += states[part * stateWords + sizeWord] ?? 0;
    return size;
  }

  hold<Result>(names: readonly string[], work: () => Result): Result {
    const { states } = this.#memory;
    const held = this.#partsOf(names).map((part) => {
      const at = part * stateWords + lockWord;
      return { at, acquisition: lock(states, at) };
    });
    try {
      return work();
    } finally {
      for (const { at, acquisition } of held) unlock(states, at, acquisition);
    }
  }

  get(name: string): Cell | undefined {
    this.#seek(name);
    const at = this.#find();
    if (at === none) return undefined;
    const { numbers } = this.#memory;
    const first = (at - 1) * numbersOfCell;
    return {
      sequence: numbers[first] as number,
      current: numbers[first + 1] as number,
      previous: numbers[first + 2] as number,
    };
  }

  put(name: string, { sequence, current, previous }: Cell, durationMs: number): void {
    this.#seek(name);
    const found = this.#find();
    const at = found === none ? this.#add(sequence * durationMs) : found;
    const { numbers } = this.#memory;
    const first = (at - 1) * numbersOfCell;
    numbers[first] = sequence;
    numbers[first + 1] = current;
    numbers[first + 2] = previous;
    numbers[first + 3] = durationMs;
  }

  /** Looks at the next `count` cells of a part, which must be held, and frees the expired ones. */
  sweep(part: number, nowMs: number, count: number): void {
    const fresh = this.#state(part, freshWord);
    for (let looked = 0; looked < Math.min(count, fresh); looked += 1) {
      const at = this.#next(part, fresh);
      if (this.#isOver(at, nowMs)) this.#free(part, at);
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #sweepAll(): void {
    const { parts, states } = this.#memory;
    const nowMs = Date.now();
    const count = Math.ceil(sweepSize(this.size) / parts);
    for (let part = 0; part < parts; part += 1) {
      withLock(states, part * stateWords + lockWord, () => this.sweep(part, nowMs, count));
    }
  }

  /** The parts of these names, ascending: two threads that hold several never wait for each other. */
  #partsOf(names: readonly string[]): readonly number[] {
    const parts = names.map((name) => {
      this.#seek(name);
      return this.#part;
    });
    return parts.length === 1 ? parts : [...new Set(parts)].sort((a, b) => a - b);
  }

  #seek(name: string): void {
    if (name === this.#name) return;
    const { parts, cellsPerPart, salt } = this.#memory;
    const digest = hash("sha256", salt + name, "buffer");
    for (let word = 0; word < tagWords; word += 1) this.#tag[word] = digest.readInt32LE(word * 4);
    // Other bits than those of the tag.
    this.#part = digest.readUInt32LE(16) % parts;
    this.#bucket = this.#part * cellsPerPart + this.#bucketIn(this.#tag[0] ?? 0);
    this.#name = name;
  }

  #bucketIn(firstWord: number): number {
    return (firstWord >>> 0) % this.#memory.cellsPerPart;
  }

  /** The place of the name; `none`: it has no counter. */
  #find(): number {
    const { heads, links } = this.#memory;
    let at = heads[this.#bucket] ?? none;
    while (at !== none && !this.#isAt(at)) at = links[at - 1] ?? none;
    return at;
  }

  #isAt(at: number): boolean {
    const { tags } = this.#memory;
    const first = (at - 1) * tagWords;
    for (let word = 0; word < tagWords; word += 1) {
      if (tags[first + word] !== this.#tag[word]) return false;
    }
    return true;
  }

  /** A new cell of the name, in the front of its bucket. */
  #add(nowMs: number): number {
    const { heads, links, tags } = this.#memory;
    const at = this.#take(nowMs);
    tags.set(this.#tag, (at - 1) * tagWords);
    links[at - 1] = heads[this.#bucket] ?? none;
    heads[this.#bucket] = at;
    this.#addTo(this.#part, sizeWord, 1);
    return at;
  }

  /** A free cell: one that was freed, or the next fresh one; without either, the oldest that the hand comes to. */
  #take(nowMs: number): number {
    const part = this.#part;
    if (this.#state(part, freeWord) === none) this.#makeRoom(part, nowMs);
    const { states, links, cellsPerPart } = this.#memory;
    const freed = this.#state(part, freeWord);
    if (freed === none) return part * cellsPerPart + this.#addTo(part, freshWord, 1);
    states[part * stateWords + freeWord] = links[freed - 1] ?? none;
    return freed;
  }

  #makeRoom(part: number, nowMs: number): void {
    const fresh = this.#state(part, freshWord);
    if (fresh < this.#memory.cellsPerPart) return;
    this.sweep(part, nowMs, searchBeforeEviction);
    while (this.#state(part, freeWord) === none) this.#free(part, this.#next(part, fresh));
  }

  /** The place that the hand comes to; it wraps around. */
  #next(part: number, fresh: number): number {
    const { states, cellsPerPart } = this.#memory;
    const hand = this.#state(part, handWord) % fresh;
    states[part * stateWords + handWord] = hand + 1;
    return part * cellsPerPart + hand + 1;
  }

  #isOver(at: number, nowMs: number): boolean {
    const { numbers } = this.#memory;
    const first = (at - 1) * numbersOfCell;
    const durationMs = numbers[first + 3] ?? 0;
    return durationMs > 0 && isOver({ sequence: numbers[first] ?? 0, durationMs }, nowMs);
  }

  /** In an order in which the end of a thread half-way loses the cell, and makes no list a circle. */
  #free(part: number, at: number): void {
    const { states, heads, links, tags, numbers, cellsPerPart } = this.#memory;
    const bucket = part * cellsPerPart + this.#bucketIn(tags[(at - 1) * tagWords] ?? 0);
    numbers[(at - 1) * numbersOfCell + 3] = 0;
    let before = none;
    let one = heads[bucket] ?? none;
    while (one !== at && one !== none) {
      before = one;
      one = links[one - 1] ?? none;
    }
    if (one === none) return;
    const next = links[at - 1] ?? none;
    if (before === none) heads[bucket] = next;
    else links[before - 1] = next;
    links[at - 1] = this.#state(part, freeWord);
    states[part * stateWords + freeWord] = at;
    this.#addTo(part, sizeWord, -1);
  }

  #state(part: number, word: number): number {
    return this.#memory.states[part * stateWords + word] ?? 0;
  }

  /** Returns the sum. */
  #addTo(part: number, word: number, count: number): number {
    const sum = this.#state(part, word) + count;
    this.#memory.states[part * stateWords + word] = sum;
    return sum;
  }
}
