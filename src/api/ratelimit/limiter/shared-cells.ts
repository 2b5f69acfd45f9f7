/**
 * The counters of all threads of a process, in shared memory that a limit of theirs is counted in exactly. The
 * memory has parts, each with a lock of its own; a counter's part and place follow from the hash of its name. Shares of
 * workspaces are those of a part: what a workspace has is spread over all alike.
 */
import { hash } from "node:crypto";
import { lock, unlock, withLock } from "#kernel/thread-lock.ts";
import { none, stateWords, tagWords } from "./cell-memory.ts";
import { Cells, type Spot, words } from "./cells.ts";

/** One thread's access to them. */
export class SharedCells extends Cells {
  override hold<Result>(names: readonly string[], work: () => Result): Result {
    const { states } = this.memory;
    const held = this.#partsOf(names).map((part) => {
      const at = part * stateWords + words.lock;
      return { at, acquisition: lock(states, at) };
    });
    try {
      return work();
    } finally {
      for (const { at, acquisition } of held) unlock(states, at, acquisition);
    }
  }

  protected override holdPart(part: number, work: () => void): void {
    withLock(this.memory.states, part * stateWords + words.lock, work);
  }

  /** The parts of these names, ascending: two threads that hold several never wait for each other. */
  #partsOf(names: readonly string[]): readonly number[] {
    const parts = names.map((name) => {
      this.seek(this.cell, name);
      return this.cell.part;
    });
    return parts.length === 1 ? parts : [...new Set(parts)].sort((a, b) => a - b);
  }

  protected override seek(spot: Spot, name: string): void {
    if (name === spot.name) return;
    const { parts, salt } = this.memory;
    const digest = hash("sha256", salt + name, "buffer");
    for (let word = 0; word < tagWords; word += 1) spot.tag[word] = digest.readInt32LE(word * 4);
    // Other bits than those of the tag.
    if (spot === this.cell) spot.part = digest.readUInt32LE(16) % parts;
    spot.name = name;
  }

  #bucketOf(part: number, firstWord = 0): number {
    const { cellsPerPart } = this.memory;
    return part * cellsPerPart + ((firstWord >>> 0) % cellsPerPart);
  }

  protected override find({ part, tag }: Spot): number {
    const { heads, links } = this.memory;
    let at = heads[this.#bucketOf(part, tag[0])] ?? none;
    while (at !== none && !this.#isAt(at, tag)) at = links[at - 1] ?? none;
    return at;
  }

  #isAt(at: number, tag: Int32Array): boolean {
    const { tags } = this.memory;
    const first = (at - 1) * tagWords;
    for (let word = 0; word < tagWords; word += 1) {
      if (tags[first + word] !== tag[word]) return false;
    }
    return true;
  }

  /** Adds the cell in front of its bucket. */
  protected override link({ part, tag }: Spot, at: number): void {
    const { heads, links, tags } = this.memory;
    const bucket = this.#bucketOf(part, tag[0]);
    tags.set(tag, (at - 1) * tagWords);
    links[at - 1] = heads[bucket] ?? none;
    heads[bucket] = at;
  }

  /** Writes in an order that makes no list a circle, even if the thread ends half-way. */
  protected override unlink(part: number, at: number): void {
    const { heads, links, tags } = this.memory;
    const bucket = this.#bucketOf(part, tags[(at - 1) * tagWords]);
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
  }
}
