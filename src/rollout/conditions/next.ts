/** Finds the next step of a rollout. Pure. */
import type { RolloutHead, WaveProgress } from "#rollout/state.ts";

/** Another deploy of the current wave, a wave by its index, or the end of the rollout. */
export type Next = { kind: "deploy" } | { kind: "wave"; index: number } | { kind: "end" };

/** The first wave with members without a result. Before the freeze those of the first are unknown. */
export function nextOf({
  captured,
  waves,
}: Pick<RolloutHead, "captured" | "waves">): Exclude<Next, { kind: "deploy" }> {
  if (!captured) return { kind: "wave", index: 0 };
  const index = waves.findIndex((wave) => unresolved(wave) > 0);
  return index === -1 ? { kind: "end" } : { kind: "wave", index };
}

/** Members of a wave that have no result yet. */
export function unresolved(wave: WaveProgress): number {
  return wave.size - wave.succeeded - wave.failed - (wave.leftOut ?? 0);
}
