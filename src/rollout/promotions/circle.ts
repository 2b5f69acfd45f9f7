/** Refuses promotions by which fleets would wait for each other. Pure. */
import { ProblemError } from "#kernel/problem.ts";
import type { Promotion, PromotionProblemCode } from "./contract.ts";

/** Throws `promotion_circle` (409) when no rollout could be started any more. */
export function refuseCircle(known: readonly Promotion[], added: Promotion): void {
  const before = new Set([added.after]);
  for (const fleet of before) {
    for (const one of known) if (one.fleet === fleet) before.add(one.after);
  }
  if (!before.has(added.fleet)) return;
  throw new ProblemError<PromotionProblemCode>({
    status: 409,
    code: "promotion_circle",
    detail: `${added.after} waits for ${added.fleet} already: neither could start a rollout`,
  });
}
