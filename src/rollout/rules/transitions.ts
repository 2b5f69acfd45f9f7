import { shortenImage } from "#kernel/image-reference.ts";
import { ProblemError } from "#kernel/problem.ts";
import { formatUtc } from "#kernel/time.ts";
import { callerWords, stateWords } from "#kernel/words.ts";
import {
  type Operation,
  operations,
  type RolloutProblemCode,
  type RolloutStateName,
} from "#rollout/contract.ts";
import type { RolloutHead } from "#rollout/state.ts";

/** The states in which an operation is legal, and the state right after it (src/rollout/README.md). */
const transitions: Record<
  Operation,
  { legalFrom: readonly RolloutStateName[]; next: RolloutStateName }
> = {
  // A rollout is active in every other state, and only one may be.
  Rollout: { legalFrom: ["idle", "completed", "cancelled"], next: "in_progress" },
  // Continues with the next wave; after the last one it is completed.
  Resume: { legalFrom: ["paused"], next: "in_progress" },
  // Succeeded sentinels keep the new image; failed ones are not touched.
  Cancel: { legalFrom: ["in_progress", "paused"], next: "cancelled" },
  // From cancelled too: operators often cancel first and then roll back.
  RollbackAll: { legalFrom: ["paused", "cancelled"], next: "rolling_back" },
  Pause: { legalFrom: ["in_progress"], next: "paused" },
  // Ends a wait, if it waits.
  Skip: { legalFrom: ["in_progress"], next: "in_progress" },
  // The same, for the wave that waits for an approval.
  Approve: { legalFrom: ["in_progress"], next: "in_progress" },
};

function isLegal(operation: Operation, state: RolloutStateName): boolean {
  return transitions[operation].legalFrom.includes(state);
}

/** The operations that may be called in this state; none while rolling back: the caller waits. */
export function legalOperations(state: RolloutStateName): Operation[] {
  return operations.filter((operation) => isLegal(operation, state));
}

/** The state after a legal operation; null: no rollout ever ran. Throws the 409 that names what is legal now. */
export function nextState(operation: Operation, head: RolloutHead | null): RolloutStateName {
  const state = head?.state ?? "idle";
  if (isLegal(operation, state)) return transitions[operation].next;
  const legal = legalOperations(state).join(", ") || "none (wait for the rollback to end)";
  throw illegalNow(operation, state, `legal now: ${legal}`, nowWords(head, operation));
}

/** The rollout there is, and the command that helps. */
function nowWords(head: RolloutHead | null, operation: Operation): string {
  if (head === null) return "There was no rollout yet. Start one: vedette rollout start <image>. ";
  const { image, currentWave, totalWaves, startedAt, startedBy, fleet } = head;
  const wave = totalWaves === 0 ? "" : `wave ${currentWave} of ${totalWaves}, `;
  const of = `${wave}started ${formatUtc(startedAt)} by ${callerWords(startedBy)}`;
  const option = fleet === undefined ? "" : ` --fleet ${fleet}`;
  const isEarly = operation === "RollbackAll" && head.state === "in_progress";
  const first = isEarly ? `Pause it first: vedette rollout pause${option}, then roll back. ` : "";
  const next = isRunning(head.state)
    ? `${first}Follow it: vedette rollout watch`
    : "Next: vedette rollout status";
  return `The rollout of ${shortenImage(image)} is ${stateWords(head)} (${of}). ${next}${option}. `;
}

/** The 409 for an operation that cannot be done in this state; `detail` says why, or what can. `before`: a sentence. */
export function illegalNow(
  operation: Operation,
  state: RolloutStateName,
  detail: string,
  before = "",
): ProblemError<RolloutProblemCode> {
  return new ProblemError<RolloutProblemCode>({
    status: 409,
    code: "illegal_operation",
    detail: `${before}${operation} is not legal in state ${state}; ${detail}`,
  });
}

/** True if it has not ended: no other rollout may start. */
export function isUnderWay(state: RolloutStateName): boolean {
  return isRunning(state) || state === "paused";
}

/** True if a run of ours works on the fleet, and so has to be watched. */
export function isRunning(state: RolloutStateName): boolean {
  return state === "in_progress" || state === "rolling_back";
}
