/** Counts changes of what cached records depend on: one step makes a million of them stale. */
import type { Stale } from "./invalidation.ts";

/** The counters of each kind. Two things that share one only make a record be loaded once more. */
const counters = 2 ** 20;

/** Counters instead of an object for each of a million keys, which took a fourth of their memory. */
export class Marks {
  /** Number of touches so far: while it is unchanged, nothing was touched. */
  touched = 0;
  readonly #touches = new Map<string, Uint32Array>();

  /** Makes every record stale that depends on this. */
  touch(tag: Stale): void {
    const touches = this.#touches.get(kindOf(tag));
    // No record depends on anything of this kind.
    if (touches === undefined) return;
    const slot = slotOf(tag);
    touches[slot] = (touches[slot] ?? 0) + 1;
    this.touched += 1;
  }

  /** Sums the touches of these: as long as it is unchanged, none was touched. */
  versionOf(tags: readonly Stale[]): number {
    let sum = 0;
    for (const tag of tags) sum += this.#touchesOf(kindOf(tag))[slotOf(tag)] ?? 0;
    return sum;
  }

  #touchesOf(kind: string): Uint32Array {
    const known = this.#touches.get(kind) ?? new Uint32Array(counters);
    this.#touches.set(kind, known);
    return known;
  }
}

function kindOf(tag: Stale): string {
  return tag.slice(0, tag.indexOf(":"));
}

/** FNV-1a, 32 bits, of which the lowest are taken. */
function slotOf(tag: Stale): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < tag.length; i++) hash = Math.imul(hash ^ tag.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % counters;
}
