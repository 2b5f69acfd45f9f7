/** Decides if an image may go on to the next fleet. Pure. */
import { isSameImage } from "#kernel/image-reference.ts";
import { ProblemError } from "#kernel/problem.ts";
import { stateWords } from "#kernel/words.ts";
import type { RolloutProblemCode, RolloutStatus } from "#rollout/contract.ts";

/** The known state of the fleet that comes first. */
export type PrecedingFleet = {
  fleet: string;
  status: Pick<RolloutStatus, "state" | "image" | "total" | "left_out">;
  /** True if its newest rollout of the image, by history, has completed. */
  hasCompleted: boolean;
};

/**
 * Why the fleet that comes first keeps the image from the next one; undefined: it does not. The status is ahead of
 * history, but has the newest rollout alone.
 */
export function findHindrance(
  image: string,
  { fleet, status, hasCompleted }: PrecedingFleet,
): string | undefined {
  const { state, image: newest, total, left_out: leftOut = 0 } = status;
  if (newest === null || !isSameImage(newest, image)) {
    return hasCompleted ? undefined : `${fleet} has not completed it`;
  }
  if (state === "completed" && total === 0 && leftOut > 0) {
    return `its rollout to ${fleet} has left all sentinels out`;
  }
  return state === "completed" ? undefined : `its rollout to ${fleet} is ${stateWords({ state })}`;
}

export function notPromoted(
  fleet: string,
  hindrances: readonly string[],
): ProblemError<RolloutProblemCode> {
  const detail =
    `${fleet} takes an image only after other fleets: ${hindrances.join("; ")} ` +
    "(vedette promotions list)";
  return new ProblemError<RolloutProblemCode>({ status: 409, code: "not_promoted", detail });
}
