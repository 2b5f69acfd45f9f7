import type { Stale } from "#api/invalidation.ts";

/** Which cached hashes a tag is about. */
export class TagIndex {
  readonly #hashes = new Map<Stale, Set<string>>();

  add(keyHash: string, tags: readonly Stale[]): void {
    for (const tag of tags) {
      const hashes = this.#hashes.get(tag);
      if (hashes === undefined) this.#hashes.set(tag, new Set([keyHash]));
      else hashes.add(keyHash);
    }
  }

  remove(keyHash: string, tags: readonly Stale[]): void {
    for (const tag of tags) {
      const hashes = this.#hashes.get(tag);
      hashes?.delete(keyHash);
      if (hashes?.size === 0) this.#hashes.delete(tag);
    }
  }

  /** A copy: the caller removes from the index while it walks. */
  find(tag: Stale): string[] {
    return [...(this.#hashes.get(tag) ?? [])];
  }
}
