/** The counters of a process, in bounded memory: a timer removes those that no window needs any more. */
import type { Cell } from "./window.ts";

export type CellStore = {
  /** How many counters there are. */
  readonly size: number;
  /** Runs `work`, which alone gets and puts the counters of these names meanwhile, of all threads that share them. */
  hold: <Result>(names: readonly string[], work: () => Result) => Result;
  /** Valid until the next `put` of this name. */
  get: (name: string) => Cell | undefined;
  put: (name: string, cell: Cell, durationMs: number) => void;
  close: () => void;
};

/** Mutated in place: a new object for each count would be garbage that the collector has to copy. */
type CellState = { sequence: number; current: number; previous: number; durationMs: number };

/** About 250 bytes each. */
const maxCells = 1_000_000;

export const sweepEveryMs = 1_000;

/** A sweep checks at least so many, and all of them within a minute: about 1 ms of work. */
const sweepAtLeast = 1_000;
const sweepsPerPass = 60;

/** How many cells a sweep checks when there are `size`. */
export function sweepSize(size: number): number {
  return Math.max(sweepAtLeast, Math.ceil(size / sweepsPerPass));
}

/** How many cells are checked for an expired one before one that is still needed is evicted. */
const searchBeforeEviction = 8;

export class Cells implements CellStore {
  readonly #cells = new Map<string, CellState>();
  readonly #max: number;
  readonly #timer: NodeJS.Timeout;
  /** The sweep's position; it wraps around, the oldest first. */
  #hand = this.#cells.entries();

  constructor(max = maxCells) {
    this.#max = max;
    this.#timer = setInterval(
      () => this.sweep(Date.now(), sweepSize(this.#cells.size)),
      sweepEveryMs,
    ).unref();
  }

  get size(): number {
    return this.#cells.size;
  }

  hold<Result>(_names: readonly string[], work: () => Result): Result {
    return work();
  }

  get(name: string): Cell | undefined {
    return this.#cells.get(name);
  }

  put(name: string, { sequence, current, previous }: Cell, durationMs: number): void {
    const kept = this.#cells.get(name);
    if (kept !== undefined) {
      kept.sequence = sequence;
      kept.current = current;
      kept.previous = previous;
      return;
    }
    if (this.#cells.size >= this.#max) this.#makeRoom(sequence * durationMs);
    this.#cells.set(name, { sequence, current, previous, durationMs });
  }

  /** Checks the next `count` cells and deletes the expired ones. */
  sweep(nowMs: number, count: number): void {
    for (let looked = 0; looked < Math.min(count, this.#cells.size); looked += 1) {
      const [name, kept] = this.#next();
      if (isOver(kept, nowMs)) this.#cells.delete(name);
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#cells.clear();
  }

  /** Evicts the oldest counter when no expired one is found. */
  #makeRoom(nowMs: number): void {
    this.sweep(nowMs, searchBeforeEviction);
    if (this.#cells.size >= this.#max) this.#cells.delete(this.#next()[0]);
  }

  /** To be called only when there are cells. */
  #next(): [string, CellState] {
    let step = this.#hand.next();
    if (step.done) {
      this.#hand = this.#cells.entries();
      step = this.#hand.next();
    }
    return step.value as [string, CellState];
  }
}

/** Whether no window needs it any more. */
export function isOver(
  { sequence, durationMs }: Pick<CellState, "sequence" | "durationMs">,
  nowMs: number,
): boolean {
  return Math.floor(nowMs / durationMs) > sequence + 1;
}
