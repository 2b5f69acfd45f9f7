import type { Stale } from "./invalidation.ts";

/** Which cached names a tag is about. */
export class TagIndex {
  readonly #names = new Map<Stale, Set<string>>();

  add(name: string, tags: readonly Stale[]): void {
    for (const tag of tags) {
      const names = this.#names.get(tag);
      if (names === undefined) this.#names.set(tag, new Set([name]));
      else names.add(name);
    }
  }

  remove(name: string, tags: readonly Stale[]): void {
    for (const tag of tags) {
      const names = this.#names.get(tag);
      names?.delete(name);
      if (names?.size === 0) this.#names.delete(tag);
    }
  }

  /** A copy: the caller removes from the index while it walks. */
  find(tag: Stale): string[] {
    return [...(this.#names.get(tag) ?? [])];
  }
}
