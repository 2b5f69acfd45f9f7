/** The counters' memory, for threads: arrays, and rings of a workspace's cells (oldest first) and of workspaces by count. */
import { randomBytes } from "node:crypto";

/** Stored words of a name's hash, 128 bits: no two names that anybody can find have the same. */
export const tagWords = 4;

/** The salt that is hashed before each name: without it callers could choose names that fill one part, or one bucket. */
const saltBytes = 16;

/** Each part has a cache line: two parts in one would slow each other down. */
export const stateWords = 16;

/** A cell's `sequence`, `current`, `previous` and `durationMs`; the last one is 0 while the cell is free. */
export const numbersOfCell = 4;

/** A place is an index plus one: first of the cells, then of as many workspaces. This is none. */
export const none = 0;

export type CellMemory = {
  parts: number;
  cellsPerPart: number;
  salt: string;
  states: Int32Array;
  /** The first place of each bucket, as many buckets as cells. */
  heads: Int32Array;
  /** The next place in the same bucket, or the next that is free. */
  links: Int32Array;
  tags: Int32Array;
  numbers: Float64Array;
  /** A cell's entry is the place of its workspace; a workspace's entry is the number of its cells. */
  owners: Int32Array;
  /** The rings. The node of a place has its number; that of a workspace leads its cells. */
  next: Int32Array;
  before: Int32Array;
  /** A workspace's node among those with as many cells is its place and this. */
  ranked: number;
  /** The first node that leads workspaces. */
  ranks: number;
};

/** `maxCells`: about 70 bytes each, and 50 for a workspace, of which the system takes only those that are used. */
export function createCellMemory({ maxCells = 1_000_000, parts = 64 } = {}): CellMemory {
  const cellsPerPart = Math.ceil(maxCells / parts);
  const cells = parts * cellsPerPart;
  const places = 2 * cells;
  const ranks = places + cells + 1;
  const nodes = ranks + parts * (cellsPerPart + 1);
  const words = (count: number) => new Int32Array(new SharedArrayBuffer(count * 4));
  return {
    parts,
    cellsPerPart,
    salt: randomBytes(saltBytes).toString("base64"),
    states: words(parts * stateWords),
    heads: words(cells),
    links: words(places),
    tags: words(places * tagWords),
    numbers: new Float64Array(new SharedArrayBuffer(cells * numbersOfCell * 8)),
    owners: words(places),
    next: words(nodes),
    before: words(nodes),
    ranked: cells,
    ranks,
  };
}

/** The node that leads the ring of a part's workspaces with `count` cells. */
export function rankOf({ ranks, cellsPerPart }: CellMemory, part: number, count: number): number {
  return ranks + part * (cellsPerPart + 1) + count;
}

/** The first node of a ring; `none`: it has no other than the one that leads it. */
export function firstInRing({ next }: CellMemory, leader: number): number {
  const first = next[leader] ?? none;
  return first === leader ? none : first;
}

export function addLast({ next, before }: CellMemory, leader: number, node: number): void {
  const last = before[leader] || leader;
  next[last] = node;
  before[node] = last;
  next[node] = leader;
  before[leader] = node;
}

export function removeFromRing({ next, before }: CellMemory, node: number): void {
  const one = before[node] ?? none;
  const other = next[node] ?? none;
  next[one] = other;
  before[other] = one;
  next[node] = none;
  before[node] = none;
}
