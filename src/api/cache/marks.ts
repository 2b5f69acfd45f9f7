/** Marks the dependencies of cached records: one step makes a million of them stale. */
import type { Stale } from "./invalidation.ts";

/** Shared by all records that depend on the same thing; `uses` counts them. */
export type Mark = { readonly tag: Stale; version: number; uses: number };

export class Marks {
  /** Number of touches so far: while it is unchanged, no mark was touched. */
  touched = 0;
  readonly #marks = new Map<Stale, Mark>();

  hold(tags: readonly Stale[]): Mark[] {
    return tags.map((tag) => {
      const mark = this.#marks.get(tag) ?? { tag, version: 0, uses: 0 };
      if (mark.uses === 0) this.#marks.set(tag, mark);
      mark.uses += 1;
      return mark;
    });
  }

  release(marks: readonly Mark[]): void {
    for (const mark of marks) {
      mark.uses -= 1;
      if (mark.uses === 0) this.#marks.delete(mark.tag);
    }
  }

  /** Makes every record stale that depends on this. */
  touch(tag: Stale): void {
    const mark = this.#marks.get(tag);
    if (mark === undefined) return;
    mark.version += 1;
    this.touched += 1;
  }
}

/** The sum of the marks' versions: as long as it is unchanged, none was touched. */
export function versionOf(marks: readonly Mark[]): number {
  let sum = 0;
  for (const { version } of marks) sum += version;
  return sum;
}
