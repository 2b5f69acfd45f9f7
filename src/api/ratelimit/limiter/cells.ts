/** The counters of a process, in bounded memory: one timer sweeps out what no window needs any more. */
import type { Cell } from "./window.ts";

/** Counted up in place: a new object for each count would be copied by the collector, and be garbage. */
type CellState = { sequence: number; current: number; previous: number; durationMs: number };

/** About 250 bytes each. */
const maxCells = 1_000_000;

const sweepEveryMs = 1_000;

/** A sweep looks at this many at least, and at all of them within a minute: about 1 ms of work. */
const sweepAtLeast = 1_000;
const sweepsPerPass = 60;

/** How many are looked at to find one that is out of date before one that is not is given up. */
const searchBeforeGivingUp = 8;

export class Cells {
  readonly #kept = new Map<string, CellState>();
  readonly #max: number;
  readonly #timer: NodeJS.Timeout;
  /** Goes round and round, the oldest first. */
  #hand = this.#kept.entries();

  constructor(max = maxCells) {
    this.#max = max;
    this.#timer = setInterval(() => {
      const count = Math.max(sweepAtLeast, Math.ceil(this.#kept.size / sweepsPerPass));
      this.sweep(Date.now(), count);
    }, sweepEveryMs).unref();
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Until the next `put` of this name. */
  get(name: string): Cell | undefined {
    return this.#kept.get(name);
  }

  put(name: string, { sequence, current, previous }: Cell, durationMs: number): void {
    const kept = this.#kept.get(name);
    if (kept !== undefined) {
      kept.sequence = sequence;
      kept.current = current;
      kept.previous = previous;
      return;
    }
    if (this.#kept.size >= this.#max) this.#makeRoom(sequence * durationMs);
    this.#kept.set(name, { sequence, current, previous, durationMs });
  }

  /** Looks at the next `count` cells and drops those that nothing counts any more. */
  sweep(nowMs: number, count: number): void {
    for (let looked = 0; looked < Math.min(count, this.#kept.size); looked += 1) {
      const [name, kept] = this.#next();
      if (isOver(kept, nowMs)) this.#kept.delete(name);
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#kept.clear();
  }

  /** Memory is worth more than the count of one who has not been seen for long. */
  #makeRoom(nowMs: number): void {
    this.sweep(nowMs, searchBeforeGivingUp);
    if (this.#kept.size >= this.#max) this.#kept.delete(this.#next()[0]);
  }

  /** Only with cells there. */
  #next(): [string, CellState] {
    let step = this.#hand.next();
    if (step.done) {
      this.#hand = this.#kept.entries();
      step = this.#hand.next();
    }
    return step.value as [string, CellState];
  }
}

function isOver({ sequence, durationMs }: CellState, nowMs: number): boolean {
  return Math.floor(nowMs / durationMs) > sequence + 1;
}
