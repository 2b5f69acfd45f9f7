/** Describes the sentinels of a rollout that stands still, for somebody who has just been woken. Pure. */
import type { RolloutStatus, StandingPart } from "#rollout/contract.ts";

/** undefined: it does not stand still, or has ended as everybody expects. */
export function situationOf({ status }: { status: RolloutStatus }): StandingPart[] | undefined {
  const { state, outcome, total, standing = [] } = status;
  const where = total === 0 ? [nothingRuns] : standing;
  if (state === "paused") return [...where, nothingStarts];
  // Of one that was rolled back only those that serve nothing are known.
  if (outcome === "rolled_back") return standing.length > 0 ? standing : undefined;
  return state === "cancelled" ? where : undefined;
}

const nothingRuns = said("No wave has started: nothing is deployed.");
const nothingStarts = said("Nothing more starts until you decide.");

function said(text: string): StandingPart {
  return { text, brief: text, down: 0, failed_on_image: 0 };
}

/** About the failed sentinels that serve nothing, as far as it is known. */
export function downOf({ standing = [] }: RolloutStatus): StandingPart | undefined {
  return standing.find(({ down }) => down > 0);
}
