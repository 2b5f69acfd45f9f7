/** The strata within which the new sentinels were drawn, and what a wave is compared by. Pure. */
import type { ComparedSentinel } from "./contract.ts";
import { leastDraws, leastOfRegion } from "./defaults.ts";
import { logChoices } from "./draws.ts";

/** The stratum of each sentinel, and how many strata there are. */
export type Strata = { stratum: Int32Array; strata: number };

/** A stratum for each region, and one for all regions that are too small. Counts the sentinels at `indices`. */
export function createStrata(
  sentinels: readonly Pick<ComparedSentinel, "region">[],
  indices: Int32Array,
): Strata {
  const sizes = new Map<string, number>();
  for (const i of indices) {
    const { region } = sentinels[i] as ComparedSentinel;
    sizes.set(region, (sizes.get(region) ?? 0) + 1);
  }
  const large = [...sizes].filter(([, size]) => size >= leastOfRegion).map(([region]) => region);
  const numbers = new Map(large.map((region, i) => [region, i]));
  const stratum = Int32Array.from(sentinels, ({ region }) => numbers.get(region) ?? large.length);
  return { stratum, strata: large.length + 1 };
}

/** Exact mode if there are enough draws with as many new ones in each stratum; `isNew`: of all sentinels. */
export function chooseMode(
  { stratum, strata }: Strata,
  indices: Int32Array,
  isNew: Uint8Array,
): "exact" | "history" {
  const sizes = new Float64Array(strata);
  const drawn = new Float64Array(strata);
  for (const i of indices) {
    const r = stratum[i] as number;
    sizes[r] = (sizes[r] as number) + 1;
    drawn[r] = (drawn[r] as number) + (isNew[i] as number);
  }
  const draws = sizes.reduce((sum, size, r) => sum + logChoices(size, drawn[r] as number), 0);
  return draws >= leastDraws ? "exact" : "history";
}

/** Returns the regions whose stratum has one image only, by name, and if that is the new one. */
export function findOneSided(
  sentinels: readonly Pick<ComparedSentinel, "region">[],
  { stratum, indices }: { stratum: Int32Array; indices: Int32Array },
  isNew: Uint8Array,
): { region: string; isNew: boolean }[] {
  const images = new Map<number, Set<number>>();
  const regions = new Map<string, number>();
  for (const i of indices) {
    const r = stratum[i] as number;
    const found = images.get(r) ?? new Set();
    images.set(r, found.add(isNew[i] as number));
    regions.set((sentinels[i] as ComparedSentinel).region, r);
  }
  return [...regions]
    .filter(([, r]) => images.get(r)?.size === 1)
    .map(([region, r]) => ({ region, isNew: images.get(r)?.has(1) === true }))
    .toSorted((a, b) => (a.region < b.region ? -1 : 1));
}
