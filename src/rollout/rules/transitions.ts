import { ProblemError } from "#kernel/problem.ts";
import {
  type Operation,
  operations,
  type RolloutProblemCode,
  type RolloutStateName,
} from "#rollout/contract.ts";

/** From which states an operation is legal, and what follows at once (spec, "States and transitions"). */
const transitions: Record<
  Operation,
  { legalFrom: readonly RolloutStateName[]; next: RolloutStateName }
> = {
  // "A rollout is active in every state other than idle, completed and cancelled" (rule 1).
  Rollout: { legalFrom: ["idle", "completed", "cancelled"], next: "in_progress" },
  // Goes on with the next wave; after the last one it is completed (design, decision 6).
  Resume: { legalFrom: ["paused"], next: "in_progress" },
  // Succeeded sentinels keep the new image; failed ones stay where they are.
  Cancel: { legalFrom: ["in_progress", "paused"], next: "cancelled" },
  // "The prose also lists RollbackAll as valid from cancelled" (rule 3).
  RollbackAll: { legalFrom: ["paused", "cancelled"], next: "rolling_back" },
};

function isLegal(operation: Operation, state: RolloutStateName): boolean {
  return transitions[operation].legalFrom.includes(state);
}

/** The operations that may be called in this state; none while rolling back: the caller waits. */
export function legalOperations(state: RolloutStateName): Operation[] {
  return operations.filter((operation) => isLegal(operation, state));
}

/** The state after a legal operation. Throws the 409 that names what is legal now. */
export function nextState(operation: Operation, state: RolloutStateName): RolloutStateName {
  if (isLegal(operation, state)) return transitions[operation].next;
  const legal = legalOperations(state).join(", ") || "none (wait for the rollback to end)";
  throw new ProblemError<RolloutProblemCode>({
    status: 409,
    code: "illegal_operation",
    detail: `${operation} is not legal in state ${state}; legal now: ${legal}`,
  });
}

/** Whether something of ours is at work on the fleet, which must then not be lost sight of. */
export function isRunning(state: RolloutStateName): boolean {
  return state === "in_progress" || state === "rolling_back";
}
