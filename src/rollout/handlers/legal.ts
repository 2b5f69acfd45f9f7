/** The head for an operation that is legal now. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import type { Operation } from "#rollout/contract.ts";
import { nextState } from "#rollout/rules/transitions.ts";
import { type RolloutHead, readHead } from "#rollout/state.ts";

/** The head, if the operation is legal now. Otherwise throws a `ProblemError` (409). */
export async function requireHead(
  ctx: ObjectContext,
  operation: Exclude<Operation, "Rollout">,
): Promise<RolloutHead> {
  const head = await readHead(ctx);
  nextState(operation, head);
  return head as RolloutHead;
}

/** The head without the fields about how its last run stopped. */
export function withoutStop({
  reason: _r,
  cause: _c,
  paused: _p,
  orderedAtStop: _o,
  stoppedRun: _s,
  rollbackDue: _d,
  ...head
}: RolloutHead): RolloutHead {
  return head;
}
