/** Fleets as rollouts know them. */
import type { RolloutFleet } from "#rollout/fleets.ts";

/** The default fleet without sentinels, but for what is given. */
export function aFleet(given: Partial<RolloutFleet> = {}): RolloutFleet {
  return {
    name: "singleton",
    listFleet: async () => [],
    readProblem: async () => null,
    resolveImage: async (image) => ({ image }),
    policy: {},
    maxParallel: 100,
    deployTimeoutMs: 20_000,
    ...given,
  };
}
