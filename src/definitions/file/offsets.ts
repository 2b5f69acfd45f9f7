/** Maps the values of a file to their places in its text. */
import type { Place } from "./fault.ts";

/** The rows that a format reads in a text, with their places. */
export type Parsed = { data: unknown; offsets: Offsets };

/** Keys and indexes, from the top of the file. */
export type Path = readonly (string | number)[];

/** Offsets in the text, by path: of a field that of its name, of an entry of a list that of the entry. */
export class Offsets {
  readonly #known = new Map<string, number>();

  set(path: Path, offset: number): void {
    this.#known.set(JSON.stringify(path), offset);
  }

  has(path: Path): boolean {
    return this.#known.has(JSON.stringify(path));
  }

  /** The offset of the value, or of the nearest one around it in its row; undefined: unknown, as for computed rows. */
  find(path: Path): number | undefined {
    const offset = this.#known.get(JSON.stringify(path));
    if (offset !== undefined || path.length <= rowDepth) return offset;
    return this.find(path.slice(0, -1));
  }
}

/** The path of a row: its section, and its index or id. */
const rowDepth = 2;

/** The number of mistakes in a file whose places are found: each reads the text to there. */
export const mostPlaces = 200;

export function placeAt(text: string, offset: number): Place {
  const before = text.slice(0, offset);
  const line = before.split("\n").length;
  return { line, column: offset - before.lastIndexOf("\n") };
}
