/** Decides if a rollout may start, by CI evidence and promotions, and completes its request from the settings. */
import type { CiEvidence, CiResult } from "#ci/contract.ts";
import { isSameImage } from "#kernel/image-reference.ts";
import { ProblemError } from "#kernel/problem.ts";
import { stateWords } from "#kernel/words.ts";
import type { RolloutProblemCode, RolloutStatus } from "#rollout/contract.ts";
import { Approvals, type Policy } from "#rollout/policy-contract.ts";
import type { HeadPolicy } from "#rollout/state.ts";

// Refuses an image that has not been shown to have passed CI. Pure.

/** None that clients retry: the refusal is kept under the idempotency key. What is pending is for a new call. */
const statuses: Record<Exclude<CiResult, "passed">, number> = {
  failed: 400,
  missing: 400,
  unverifiable: 400,
  pending: 409,
  unavailable: 424,
};

/** The order in which one of several results is named. */
const order = ["failed", "unverifiable", "missing", "pending", "unavailable"] as const;

const words: Record<Exclude<CiResult, "passed">, string> = {
  failed: "the image has not passed CI",
  missing: "nothing shows that the image has passed CI",
  unverifiable: "what is to show that the image has passed CI cannot be verified",
  pending: "CI has not ended; try again when it has",
  unavailable: "it cannot be found out now whether the image has passed CI",
};

/** Throws a `ProblemError` (400, 409 or 424) unless all evidence passes. */
export function requireCi(evidence: readonly CiEvidence[] = []): void {
  const short = evidence.filter(({ passes }) => !passes);
  const result = order.find((one) => short.some((of) => of.result === one));
  if (result === undefined) return;
  const details = short.map(({ kind, detail }) => `${kind}: ${detail}`);
  throw new ProblemError<RolloutProblemCode>({
    status: statuses[result],
    code: `ci_${result}`,
    detail: [`${words[result]} (rollout.require_ci)`, ...details].join("; "),
  });
}

// Decides if an image may go on to the next fleet. Pure.

/** The known state of the fleet that comes first. */
type PrecedingFleet = {
  fleet: string;
  status: Pick<RolloutStatus, "state" | "image" | "total" | "left_out">;
  /** True if its newest rollout of the image, by history, has completed. */
  hasCompleted: boolean;
};

/** Why the earlier fleet keeps the image; undefined: it does not. The status is ahead of history, for the newest. */
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

/** Completes the request from the settings. It cannot ask for fewer approvals than they do. */
export function withDefaults(settings: HeadPolicy, requested: Policy = {}): HeadPolicy {
  const wanted = [settings.approvals, requested.approvals];
  // From the fewest to the most.
  const approvals = Approvals.options.findLast((one) => wanted.includes(one));
  return { ...settings, ...requested, ...(approvals !== undefined && { approvals }) };
}
