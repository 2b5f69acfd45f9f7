/** Refuses an image that has not been shown to have passed CI. Pure. */
import type { CiEvidence, CiResult } from "#ci/contract.ts";
import { ProblemError } from "#kernel/problem.ts";
import type { RolloutProblemCode } from "#rollout/contract.ts";

/**
 * None that clients retry by themselves: the refusal is kept under the call's idempotency key, and another attempt with
 * it gets the same. What is pending, or could not be found out, is for a new call.
 */
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
