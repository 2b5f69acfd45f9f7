/** Refuses an image that has not been shown to have passed CI. Pure. */
import type { CiEvidence, CiResult } from "#ci/contract.ts";
import { ProblemError } from "#kernel/problem.ts";
import type { RolloutProblemCode } from "#rollout/contract.ts";

/** A failure is final; what is pending, or could not be asked, may be tried again. */
const statuses: Record<Exclude<CiResult, "passed">, number> = {
  failed: 400,
  missing: 400,
  unverifiable: 400,
  pending: 409,
  unavailable: 503,
};

/** In the order in which one of several results is named. */
const order = ["failed", "unverifiable", "missing", "pending", "unavailable"] as const;

const words: Record<Exclude<CiResult, "passed">, string> = {
  failed: "the image has not passed CI",
  missing: "nothing shows that the image has passed CI",
  unverifiable: "what is to show that the image has passed CI cannot be verified",
  pending: "CI has not ended; try again when it has",
  unavailable: "whether the image has passed CI cannot be asked now; try again in a moment",
};

/** Throws a `ProblemError` (400, 409 or 503) unless all evidence passes. */
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
